"""The base of all requests: unknown keys are ignored and never stored, and errors are sentences that name the field."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from leasehold.resource_types.fields import as_input_error


class RequestModel(BaseModel):
    """The body of a request. Values are not converted between JSON types: "1" is not a number and 1 is not text."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


Model = TypeVar("Model", bound=RequestModel)


def read(model: type[Model], body: dict[str, Any]) -> Model:
    """Return `body` as `model`; raises `MissingParameterError` for all absent keys, else `InvalidInputError`."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise as_input_error(error) from error
