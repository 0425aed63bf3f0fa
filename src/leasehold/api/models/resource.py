"""Formats of resources of any type, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.property import CHANGES, PROPERTIES
from leasehold.api.versions import RESTRICTIONS

if TYPE_CHECKING:
    from pydantic.config import JsonDict


OWNER: JsonDict = {
    "type": ["string", "null"],
    "minLength": 1,
    "maxLength": 255,
    "description": "From 1.3 on: the project that it belongs to, which is one of `projects`; null for none",
}


def _describe_projects(schema: JsonDict) -> None:
    described = schema["properties"]
    projects: JsonDict = {
        "type": ["array", "null"],
        "items": {"type": "string", "minLength": 1, "maxLength": 255},
        "minItems": 1,
        "maxItems": MOST_PROJECTS,
        "description": "From 1.3 on: the projects that alone may use it, null for all",
    }
    own: JsonDict = {"projects": projects, "owner": OWNER}
    schema["properties"] = {**(described if isinstance(described, dict) else {}), **own}


class ResourceCreation(RequestModel):
    """The body of POST /v1/resources/{resource_type}: what the type needs to find the resource, and its properties.

    From 1.3 on `projects` are those that alone may use it, null for all, and `owner` is the one that it belongs to;
    before, keys like those of the type.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, json_schema_extra=_describe_projects)

    properties: dict[str, Any] = Field(default_factory=dict, json_schema_extra=PROPERTIES)


_CHANGED: JsonDict = CHANGES
LONGEST_REASON = 255
Reason = Annotated[str, Field(max_length=LONGEST_REASON)]


class DisablingChange(RequestModel):
    """The part of a PUT that disables or enables a resource: a reason that is absent stays, and "" removes it."""

    disabled: bool
    disabled_reason: Reason | None = None


MOST_PROJECTS = 1000
Projects = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=255)]], Field(min_length=1, max_length=MOST_PROJECTS)
]


Owner = Annotated[str, Field(min_length=1, max_length=255)]


class RestrictionChange(RequestModel):
    """The part of a request that says which projects alone may use a resource, and whose it is; null: all, nobody."""

    projects: Projects | None = None
    owner: Owner | None = None


Pool = Literal["reservation", "shared"]


class PoolChange(RequestModel):
    """The part of a request that says in which pool a resource is to be."""

    pool: Pool


def unless_absent(schema: JsonDict) -> None:
    """Take the default out of the description of a field: absent means that nothing changes."""
    del schema["default"]


SINCE_OF_RESTRICTION = dict.fromkeys(RestrictionChange.model_fields, RESTRICTIONS)


class ResourceChange(RequestModel):
    """The body of PUT /v1/resources/{resource_type}/{resource_id}: properties by name, null for those to remove.

    `disabled` takes it out of service or puts it back; a `disabled_reason` that is absent stays, and an empty one goes.
    `pool` begins to move a host into that pool. From 1.3 on `projects` are those that alone may use it, null for all,
    and `owner` is the one that it belongs to. At least a property, `disabled`, `pool`, `projects` or `owner` is there.
    """

    properties: dict[str, Any] = Field(default_factory=dict, json_schema_extra={**_CHANGED, "minProperties": 0})
    disabled: bool = Field(default=False, json_schema_extra=unless_absent)
    disabled_reason: Reason | None = None
    pool: Pool = Field(default="reservation", json_schema_extra=unless_absent)
    projects: Projects | None = Field(default=None, json_schema_extra=unless_absent)
    owner: Owner | None = Field(default=None, json_schema_extra=unless_absent)

    since = SINCE_OF_RESTRICTION


class RestrictedAnswer(TypedDict):
    """The projects that alone may use a resource, from 1.3 on, null: all; and the one that it belongs to."""

    projects: list[str] | None
    owner: str | None


class DisabledAnswer(TypedDict):
    """Whether an administrator has disabled a resource, and why."""

    disabled: bool
    disabled_reason: str | None


class PoolAnswer(TypedDict):
    """The pool of a resource: reservation, shared, drawing or giving_back; and why the last draw failed.

    `held_for` is the best-effort lease that nobody else gets it before.
    """

    pool: str
    pool_reason: str | None
    held_for: str | None


@with_config(ConfigDict(extra="forbid"))
class ResourceAnswer(TypedDict):
    """A resource: `name` is what people call it, `attributes` what its driver found, `capacity` by resource class."""

    id: str
    resource_type: str
    name: str
    attributes: dict[str, Any]
    properties: dict[str, str]
    capacity: dict[str, int]
    traits: list[str]
    reservable: bool
    health: str
    created_at: str | None
    updated_at: str | None
    disabled: bool
    disabled_reason: str | None
    pool: str
    pool_reason: str | None
    held_for: str | None
    projects: NotRequired[list[str] | None]
    owner: NotRequired[str | None]


class CandidateAnswer(TypedDict):
    """Something that could be enrolled by its `name`; `pool` is the one for which it can be, as it is now.

    `up` and `enabled` say how the cloud has it, and `refused` why it would be refused.
    """

    id: str
    name: str
    attributes: dict[str, Any]
    up: bool
    enabled: bool
    pool: str
    refused: str | None


CandidateList = answer("CandidateList", "The answer about what could be enrolled.", candidates=list[CandidateAnswer])
OneResource = answer("OneResource", "The answer about one resource.", resource=ResourceAnswer)


ResourceList = answer("ResourceList", "The answer about resources.", resources=list[ResourceAnswer])


class ResourceTypeAnswer(TypedDict):
    """A resource type that is switched on: its noun, and whether an administrator enrols resources of it."""

    resource_type: str
    noun: str
    enrolled: bool


ResourceTypeList = answer(
    "ResourceTypeList", "The answer about resource types.", resource_types=list[ResourceTypeAnswer]
)
