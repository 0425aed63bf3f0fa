"""Formats of hosts (contract http-api §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.property import CHANGES, PROPERTIES

if TYPE_CHECKING:
    from pydantic.config import JsonDict

TAKES_PROPERTIES = ConfigDict(extra="allow", frozen=True, strict=True, json_schema_extra=PROPERTIES)


_OWN: JsonDict = {
    "pool": {
        "type": ["string", "number", "boolean"],
        "description": "From 1.2 on: `reservation`, the default, or `shared`; before, a property like any other",
    },
    "projects": {
        "type": ["array", "boolean", "string", "number", "null"],
        "items": {"type": "string"},
        "description": "From 1.3 on: the projects that alone may use it, null for all; before, a property",
    },
    "owner": {
        "type": ["string", "number", "boolean", "null"],
        "description": "From 1.3 on: the project that it belongs to, null for none; before, a property",
    },
}


def _describe_creation(schema: JsonDict) -> None:
    """Describe properties, and keys that have been properties before they were read."""
    described = schema["properties"]
    schema |= {**PROPERTIES, "properties": {**(described if isinstance(described, dict) else {}), **_OWN}}


class HostCreation(RequestModel):
    """The body of POST /v1/os-hosts: the hypervisor, by id or by name; every other key becomes a property.

    From 1.2 on `pool` is the pool of the host, `reservation` or `shared`; a shared one may have servers. From 1.3 on
    `projects` are the ids of those that alone may use it, null for all, and `owner` is the one that it belongs to.
    """

    model_config = ConfigDict(**{**TAKES_PROPERTIES, "json_schema_extra": _describe_creation})

    id: Annotated[str, Field(max_length=255)] | int | None = None
    name: Annotated[str, Field(max_length=255)] | None = None


_PROPERTY: JsonDict = {"type": ["boolean", "string", "number", "null"]}
_DISABLING: JsonDict = {
    "disabled": {**_PROPERTY, "description": "From 1.2 on: whether only administrators may lease the host"},
    "disabled_reason": {**_PROPERTY, "description": "From 1.2 on: why it is disabled, for administrators"},
    "pool": {**_PROPERTY, "description": "From 1.2 on: the pool that it is to be in, `reservation` or `shared`"},
    "projects": {
        "type": ["array", "boolean", "string", "number", "null"],
        "items": {"type": "string"},
        "description": "From 1.3 on: the projects that alone may use it, null for all",
    },
    "owner": {**_PROPERTY, "description": "From 1.3 on: the project that it belongs to, null for none"},
}
"""Before 1.2 they are properties like any other."""


class HostChange(RequestModel):
    """The body of PUT /v1/os-hosts/{id}: properties by name, null for those to remove.

    From 1.2 on `disabled`, a boolean, takes the host out of service or puts it back, and `disabled_reason` is a text
    that stays if it is absent, and goes if it is empty; `pool` begins to move it into that pool. From 1.3 on
    `projects` are the ids of those that alone may use it, null for all, and `owner` is the one that it belongs to.
    Before, they are properties.
    """

    model_config = ConfigDict(**{**TAKES_PROPERTIES, "json_schema_extra": {**CHANGES, "properties": _DISABLING}})


@with_config(ConfigDict(extra="allow"))
class HostAnswer(TypedDict):
    """A host; its properties are further keys, with strings as values."""

    id: str
    hypervisor_hostname: str | None
    hypervisor_type: str | None
    hypervisor_version: int | None
    vcpus: int | None
    cpu_info: str | None
    memory_mb: int | None
    local_gb: int | None
    service_name: str | None
    availability_zone: str | None
    reservable: bool
    status: None
    trust_id: None
    created_at: str | None
    updated_at: str | None
    disabled: NotRequired[bool | str]
    disabled_reason: NotRequired[str | None]
    pool: NotRequired[str]
    pool_reason: NotRequired[str | None]
    held_for: NotRequired[str | None]
    projects: NotRequired[list[str] | str | None]
    owner: NotRequired[str | None]


OneHost = answer("OneHost", "The answer about one host.", host=HostAnswer)
HostList = answer("HostList", "The answer about hosts.", hosts=list[HostAnswer])
