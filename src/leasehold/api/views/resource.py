"""Resources of any type, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.api.dates import to_record
from leasehold.resource_types.capabilities import Enrollable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.models.resource import (
        CandidateAnswer,
        DisabledAnswer,
        PoolAnswer,
        ResourceAnswer,
        ResourceTypeAnswer,
        RestrictedAnswer,
    )
    from leasehold.leasing.resources.candidates import Candidate
    from leasehold.model.resource import Resource
    from leasehold.resource_types.registry import ResourceType


def show_resource(resource: Resource, *, projects: bool = False) -> ResourceAnswer:
    """Return what the cloud, the operator and the health check know about a resource, and which projects may use it."""
    since_1_3: Mapping[str, object] = show_restricted(resource) if projects else {}
    return cast(
        "ResourceAnswer",
        {**_shown(resource), **show_disabled(resource), **show_pool(resource), **since_1_3},
    )


def _shown(resource: Resource) -> dict[str, object]:
    return {
        "id": resource.id,
        "resource_type": resource.type,
        "name": resource.label,
        "attributes": dict(resource.attributes),
        "properties": dict(resource.properties),
        "capacity": dict(resource.capacity),
        "traits": sorted(resource.traits),
        "reservable": resource.reservable,
        "health": resource.health,
        "created_at": to_record(resource.created_at),
        "updated_at": to_record(resource.updated_at),
    }


def show_restricted(resource: Resource) -> RestrictedAnswer:
    """Return which projects alone may use the resource, None: all; and the one that it belongs to."""
    projects = None if resource.projects is None else sorted(resource.projects)
    return {"projects": projects, "owner": resource.owner}


def show_disabled(resource: Resource) -> DisabledAnswer:
    """Return whether an administrator has disabled the resource, and why."""
    return {"disabled": resource.disabled, "disabled_reason": resource.disabled_reason}


def show_pool(resource: Resource) -> PoolAnswer:
    """Return which pool the resource is in or moves to, why the last draw failed, and which lease it is held for."""
    return {
        "pool": resource.membership,
        "pool_reason": resource.membership_reason,
        "held_for": resource.held_for,
    }


def show_type(type_: ResourceType) -> ResourceTypeAnswer:
    """Return a resource type."""
    enrolled = isinstance(type_.driver, Enrollable)
    return {"resource_type": type_.name, "noun": type_.kind.noun, "enrolled": enrolled}


def show_candidate(candidate: Candidate) -> CandidateAnswer:
    """Return something that could be enrolled."""
    found = candidate.found
    return {
        "id": found.id,
        "name": found.reference,
        "attributes": dict(found.attributes),
        "up": found.report.up,
        "enabled": found.report.enabled,
        "pool": found.membership,
        "refused": candidate.refused,
    }
