"""Formats and rules of the properties of resources (contract http-api §6.2)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydantic.config import JsonDict

LONGEST_KEY = 64
LONGEST_VALUE = 16_000
"""In characters: at four bytes each such a value fits the text columns of every database."""

KEY_FORM = r"^[^\x00-\x1f\x7f-\x9f/]+$"
"""Keys are used in paths and in property expressions."""

PROPERTIES: JsonDict = {
    "propertyNames": {"maxLength": LONGEST_KEY, "pattern": KEY_FORM},
    "additionalProperties": {"type": ["string", "number", "boolean"], "maxLength": LONGEST_VALUE},
}
"""The schema of properties, for the OpenAPI description. The handler checks them, so that its errors name the key."""

CHANGES: JsonDict = {
    "propertyNames": PROPERTIES["propertyNames"],
    "additionalProperties": {"type": ["string", "number", "boolean", "null"], "maxLength": LONGEST_VALUE},
    "minProperties": 1,
}
"""The same for changes, where null removes a property."""


class PrivacyChange(RequestModel):
    """The body of PATCH /v1/os-hosts/properties/{name}."""

    private: bool


class PropertyAnswer(TypedDict):
    """A property that some host has; the query key `detail` adds the optional keys."""

    property: str
    private: NotRequired[bool]
    values: NotRequired[list[str]]


PropertyList = answer("PropertyList", "The answer about properties.", resource_properties=list[PropertyAnswer])


class DefinitionAnswer(TypedDict):
    """The definition of a property, without its values."""

    id: str
    resource_type: str
    property_name: str
    private: bool
    created_at: str | None
    updated_at: str | None


OneDefinition = answer("OneDefinition", "The answer about one property.", resource_property=DefinitionAnswer)


def checked_changes(wanted: Mapping[str, Any], *, reserved: Collection[str]) -> dict[str, str | None]:
    """Return the properties to set, and None for those to remove; raises InvalidInputError for none or a bad one."""
    if not wanted:
        raise InvalidInputError('Name at least one property to set, such as {"rack": "r7"}.')
    check_reserved(wanted, reserved)
    gone = dict.fromkeys(key for key, value in wanted.items() if value is None)
    return {**gone, **checked_properties({key: value for key, value in wanted.items() if key not in gone})}


def check_reserved(wanted: Collection[str], reserved: Collection[str]) -> None:
    """Raise InvalidInputError for a property that is named like something else of a resource."""
    masking = sorted(key for key in wanted if key in reserved)
    if masking:
        message = f"{masking[0]!r} is a reserved key and cannot be set. Choose another name."
        raise InvalidInputError(message, field=masking[0])


def checked_properties(wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties with their values as text; raises InvalidInputError that names the key."""
    for key in wanted:
        if len(key) > LONGEST_KEY:
            message = f"Extra capability key too long: {key[:LONGEST_KEY]}... has more than {LONGEST_KEY} characters."
            raise InvalidInputError(message, field=key[:LONGEST_KEY])
    return {_key(key): _text(key, value) for key, value in wanted.items()}


def _key(key: str) -> str:
    if not re.fullmatch(KEY_FORM, key):
        raise InvalidInputError(f"{key!r} cannot name a property. Use no control characters and no slash.", field=key)
    return key


def _text(key: str, value: object) -> str:
    """Return the value as it is stored: numbers and booleans are accepted, and become text."""
    if not isinstance(value, str | int | float):
        raise InvalidInputError(f"The value of property {key!r} has to be a string.", field=key)
    text = str(value)
    if len(text) > LONGEST_VALUE:
        raise InvalidInputError(f"The value of property {key!r} is longer than {LONGEST_VALUE} characters.", field=key)
    return text
