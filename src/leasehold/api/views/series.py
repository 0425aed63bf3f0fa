"""Series of leases, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_record, to_wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.models.series import OccurrenceAnswer, SeriesAnswer
    from leasehold.model.series import Occurrence, Series
    from leasehold.model.states import LeaseStatus


def show_series(series: Series, statuses: Mapping[str, LeaseStatus]) -> SeriesAnswer:
    """Return a series; `statuses` are those of its leases that are not deleted, by id."""
    return {
        "id": series.id,
        "name": series.name,
        "project_id": series.project_id,
        "user_id": series.user_id,
        "rule": series.rule,
        "time_zone": series.time_zone,
        "created_at": to_record(series.created_at) or "",
        "updated_at": to_record(series.updated_at),
        "occurrences": [_show_occurrence(each, statuses) for each in series.occurrences],
    }


def _show_occurrence(each: Occurrence, statuses: Mapping[str, LeaseStatus]) -> OccurrenceAnswer:
    status, refusal = statuses.get(each.lease_id or ""), each.refusal
    return {
        "start_date": to_wire(each.window.start),
        "end_date": to_wire(each.window.end),
        "lease_id": each.lease_id,
        "status": None if status is None else status.value,
        "refused": None
        if refusal is None
        else {"code": refusal.code, "error_message": refusal.message, "details": dict(refusal.details)},
    }
