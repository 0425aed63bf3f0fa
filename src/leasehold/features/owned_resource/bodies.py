"""Formats of the resources of owners, from 1.3 on."""

from __future__ import annotations

from typing_extensions import TypedDict

from leasehold.api.models.base import answer


class OwnedUseAnswer(TypedDict):
    """A lease that uses a resource: its id, whose it is, when and how it stands."""

    id: str
    project_id: str
    start_date: str
    end_date: str
    status: str


class OwnedResourceAnswer(TypedDict):
    """A resource that belongs to the project `owner`, and the leases that use it now or later."""

    id: str
    resource_type: str
    name: str
    owner: str
    projects: list[str]
    capacity: dict[str, int]
    reservable: bool
    health: str
    leases: list[OwnedUseAnswer]


OwnedResourceList = answer(
    "OwnedResourceList", "The answer about the resources of owners.", owned_resources=list[OwnedResourceAnswer]
)
