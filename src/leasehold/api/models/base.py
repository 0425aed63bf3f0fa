"""The base of all requests: unknown keys are never stored, and errors are sentences that name the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from leasehold.api.versions import Version
from leasehold.resource_types.fields import as_input_error
from leasehold.resource_types.unknown_keys import refuse_unknown


class RequestModel(BaseModel):
    """The body of a request. Values are not converted between JSON types: "1" is not a number and 1 is not text.

    `since` says from which microversion on a key is read; before, it is ignored or refused like an unknown one.
    `instead` says by a required key which other one may take its place; it is read as empty text then.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    since: ClassVar[Mapping[str, Version]] = {}
    instead: ClassVar[Mapping[str, str]] = {}


Model = TypeVar("Model", bound=RequestModel)


def read(model: type[Model], body: dict[str, Any], version: Version, *, strict: bool = False) -> Model:
    """Return `body` as `model`; raises `MissingParameterError` for all absent keys, else `InvalidInputError`.

    `strict` refuses unknown keys first, with `UnknownKeysError`; without it they are ignored.
    """
    newer = {key for key, since in model.since.items() if since > version}
    if strict:
        refuse_unknown(model, body, without=newer)
    known = {key: value for key, value in body.items() if key not in newer}
    known = {key: "" for key, other in model.instead.items() if known.get(other) is not None} | known
    try:
        return model.model_validate(known)
    except ValidationError as error:
        raise as_input_error(error) from error
