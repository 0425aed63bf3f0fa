"""Parse the fields of a request: the shapes that v1 clients send, and errors that name the field.

Blazar's command line sends integers as integers, everything else as text, and "" for absent keys (contract http-api
§10.1). So numbers are accepted as text too, and "" means that the value is absent.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, WithJsonSchema

from leasehold.model.errors import InvalidInputError, LeaseholdError, MissingParameterError
from leasehold.model.properties import parse as parse_expression

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from _typeshed import DataclassInstance

Body = TypeVar("Body", bound="RequestBody")

MOST = 2**31 - 1
_YES = frozenset({"1", "t", "true", "on", "y", "yes"})
_NO = frozenset({"0", "f", "false", "off", "n", "no"})
_NONE = frozenset({"", "none", "null"})


class RequestBody(BaseModel):
    """Base of all request shapes: unknown keys are ignored and never stored (contract http-api §5.3)."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def _whole_number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        message = "it has to be a whole number"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into an error of the field
    if isinstance(value, str):
        if not (value.isascii() and value.removeprefix("-").isdigit() and len(value) < 12):  # noqa: PLR2004 - ten digits and a sign hold every allowed number
            message = f"{value[:40]!r} is not a whole number"
            raise ValueError(message)
        return int(value)
    return value


def _tri_state(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    text = str(value).strip().lower() if isinstance(value, int | str) else "?"
    if text in _NONE:
        return None
    if text in _YES:
        return True
    if text in _NO:
        return False
    message = "it has to be true, false or none"
    raise ValueError(message)


def _expression(value: object, info: ValidationInfo) -> str:
    if not isinstance(value, str):
        message = 'it has to be JSON text such as "[\\"==\\", \\"$vcpus\\", \\"8\\"]", or "" for no condition'
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into an error of the field
    parse_expression(value, info.field_name or "expression")
    return value


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Amount = Annotated[
    int,
    BeforeValidator(_whole_number),
    Field(ge=1, le=MOST),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST}, {"type": "string", "pattern": "^[0-9]+$"}]}
    ),
]
"""A whole number from 1 to 2^31 - 1, also as text."""
Size = Annotated[
    int,
    BeforeValidator(_whole_number),
    Field(ge=0, le=MOST),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0, "maximum": MOST}, {"type": "string", "pattern": "^[0-9]+$"}]}
    ),
]
"""A whole number from 0 to 2^31 - 1, also as text."""
Affinity = Annotated[
    bool | None,
    BeforeValidator(_tri_state),
    WithJsonSchema({"type": ["boolean", "string", "null"]}),
]
"""true: all on one host; false: all on different hosts; none: anywhere. Also as text; "" is none."""
ExpressionText = Annotated[str, BeforeValidator(_expression), WithJsonSchema({"type": "string"})]
"""A property expression as JSON text (contract resources §0.1)."""
Identifier = Annotated[
    str, BeforeValidator(_text), Field(min_length=1, max_length=255), WithJsonSchema({"type": ["string", "integer"]})
]
"""An id in the cloud; the command line sends digits as a number."""


def read(model: type[Body], raw: Mapping[str, Any]) -> Body:
    """Return the request as `model`; raises MissingParameterError or InvalidInputError with the field's name."""
    try:
        return model.model_validate({key: raw[key] for key in model.model_fields if key in raw})
    except ValidationError as error:
        raise as_input_error(error) from None


def known_fields(request_type: type[DataclassInstance], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored values that have a field in the dataclass; an older version may have stored more."""
    return {each.name: stored[each.name] for each in fields(request_type) if each.name in stored}


def as_input_error(error: ValidationError) -> LeaseholdError:
    """Convert pydantic's error: MissingParameterError with all absent keys, else InvalidInputError with the first.

    Of absent keys only the outermost are named: a lease's own before those inside its reservations.
    """
    found = error.errors(include_url=False, include_input=False)
    absent = [entry["loc"] for entry in found if entry["type"] == "missing"]
    if absent:
        depth = min(map(len, absent))
        missing = MissingParameterError(*dict.fromkeys(str(place[-1]) for place in absent if len(place) == depth))
        return missing.under(path(absent[0][:-1])) if depth > 1 else missing
    name = path(found[0]["loc"])
    reason = found[0]["msg"].removeprefix("Value error, ")
    return InvalidInputError(f"The value of {name} is not acceptable: {reason[:1].lower()}{reason[1:]}.", field=name)


def path(place: Sequence[int | str]) -> str:
    """Return a location as text, e.g. `reservations[0].min`."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
