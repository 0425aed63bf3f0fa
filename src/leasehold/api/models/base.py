"""The base of all requests: unknown keys are ignored and never stored, and errors are sentences that name the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from leasehold.model.errors import InvalidInputError, LeaseholdError, MissingParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

MISSING = "missing"


class RequestModel(BaseModel):
    """The body of a request. Values are not converted between JSON types: "1" is not a number and 1 is not text."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


Model = TypeVar("Model", bound=RequestModel)


def read(model: type[Model], body: dict[str, Any]) -> Model:
    """Return `body` as `model`; raises `MissingParameterError` for all absent keys, else `InvalidInputError`."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise _sentence(error.errors(include_url=False, include_context=True)) from error


def _sentence(errors: Sequence[ErrorDetails]) -> LeaseholdError:
    absent = [error["loc"] for error in errors if error["type"] == MISSING]
    if absent:
        # Report the outermost level first: the lease's own keys before those inside its reservations.
        depth = min(len(place) for place in absent)
        names = dict.fromkeys(str(place[-1]) for place in absent if len(place) == depth)
        return (
            MissingParameterError(*names).under(_path(absent[0][:-1])) if depth > 1 else MissingParameterError(*names)
        )
    first = errors[0]
    path = _path(first["loc"])
    return InvalidInputError(f"{path}: {first['msg']}.", field=path)


def _path(place: Sequence[int | str]) -> str:
    """Return a location as text, such as `reservations[0].resource_type`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
