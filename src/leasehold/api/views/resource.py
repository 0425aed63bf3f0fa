"""Resources of any type, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_record
from leasehold.api.models.resource import CandidateAnswer, PoolAnswer, ResourceAnswer, RestrictedAnswer
from leasehold.api.views.shown import shown
from leasehold.resource_types.capabilities import Enrollable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.models.resource import ResourceTypeAnswer
    from leasehold.leasing.resources.candidates import Candidate
    from leasehold.model.resource import Resource
    from leasehold.resource_types.registry import ResourceType


def show_resource(resource: Resource, *, projects: bool = False) -> ResourceAnswer:
    """Return what the cloud, the operator and the health check know about a resource, and which projects may use it."""
    since_1_3: Mapping[str, object] = shown(RestrictedAnswer, resource) if projects else {}
    return shown(
        ResourceAnswer,
        resource,
        resource_type=resource.type,
        name=resource.label,
        created_at=to_record(resource.created_at),
        updated_at=to_record(resource.updated_at),
        **show_pool(resource),
        **since_1_3,
    )


def show_pool(resource: Resource) -> PoolAnswer:
    """Return which pool the resource is in or moves to, why the last draw failed, and which lease it is held for."""
    return shown(PoolAnswer, resource, pool=resource.membership, pool_reason=resource.membership_reason)


def show_type(type_: ResourceType) -> ResourceTypeAnswer:
    """Return a resource type."""
    enrolled = isinstance(type_.driver, Enrollable)
    return {"resource_type": type_.name, "noun": type_.kind.noun, "enrolled": enrolled}


def show_candidate(candidate: Candidate) -> CandidateAnswer:
    """Return something that could be enrolled."""
    found = candidate.found
    return shown(
        CandidateAnswer,
        found,
        name=found.reference,
        up=found.report.up,
        enabled=found.report.enabled,
        pool=found.membership,
        refused=candidate.refused,
    )
