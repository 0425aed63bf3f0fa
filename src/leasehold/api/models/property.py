"""Formats of the properties of hosts (contract http-api §6.2)."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel


class PrivacyChange(RequestModel):
    """The body of PATCH /v1/os-hosts/properties/{name}."""

    private: bool


class PropertyAnswer(TypedDict):
    """A property that some host has; the query key `detail` adds the optional keys."""

    property: str
    private: NotRequired[bool]
    values: NotRequired[list[str]]


class PropertyList(TypedDict):
    """The answer about properties."""

    resource_properties: list[PropertyAnswer]


class DefinitionAnswer(TypedDict):
    """The definition of a property, without its values."""

    id: str
    resource_type: str
    property_name: str
    private: bool
    created_at: str | None
    updated_at: str | None


class OneDefinition(TypedDict):
    """The answer about one property."""

    resource_property: DefinitionAnswer
