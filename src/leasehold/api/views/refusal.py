"""Counts of refused requests, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.api.models.refusal import RefusalAnswer
    from leasehold.model.refused import RefusedCount


def show_refusal(count: RefusedCount) -> RefusalAnswer:
    """Return the counts of one reason in one hour, which is in ISO 8601 with the zone."""
    return {
        "hour": count.hour.isoformat(),
        "operation": count.operation.value,
        "code": count.code,
        "resource_type": count.resource_type or None,
        "missing": count.missing,
        "refused": count.refused,
        "projects": count.projects,
    }
