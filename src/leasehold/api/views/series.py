"""Series of leases, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_record, to_wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.models.series import OccurrenceAnswer, PlannedAnswer, SeriesAnswer
    from leasehold.model.series import Granted, Occurrence, Series
    from leasehold.model.windows import Window


def show_series(series: Series, granted: Mapping[str, Granted]) -> SeriesAnswer:
    """Return a series; `granted` has those of its leases that are not deleted, by id."""
    return {
        "id": series.id,
        "name": series.name,
        "project_id": series.project_id,
        "user_id": series.user_id,
        "rule": series.rule,
        "time_zone": series.time_zone,
        "created_at": to_record(series.created_at) or "",
        "updated_at": to_record(series.updated_at),
        "occurrences": [_show_occurrence(each, granted) for each in series.occurrences],
    }


def _show_occurrence(each: Occurrence, granted: Mapping[str, Granted]) -> OccurrenceAnswer:
    lease, refusal = granted.get(each.lease_id or ""), each.refusal
    window = each.window if lease is None else lease.window
    return {
        **_dates(window),
        "planned": None if window == each.window else _dates(each.window),
        "lease_id": each.lease_id,
        "status": None if lease is None else lease.status.value,
        "refused": None
        if refusal is None
        else {"code": refusal.code, "error_message": refusal.message, "details": dict(refusal.details)},
    }


def _dates(window: Window) -> PlannedAnswer:
    return {"start_date": to_wire(window.start), "end_date": to_wire(window.end)}
