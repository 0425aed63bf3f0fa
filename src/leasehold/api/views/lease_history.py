"""The past of a lease, from 1.3 on: nothing that the lease itself would not have shown to the caller then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.api.dates import to_wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leasehold.api.models.lease_history import ChangeAnswer, DifferenceAnswer, HeldAnswer, HeldThen
    from leasehold.model.lease import Lease
    from leasehold.model.lease_history import Change, LeaseHistory
    from leasehold.model.segment import Segment

    Shown = Mapping[str, Any]

SAME = frozenset({"id", "lease_id", "user_id", "project_id", "trust_id", "created_at", "updated_at"})
"""Keys that never change, and the one that changes each time."""
PARTS = {"reservation": "reservations", "event": "events"}
TOLD = {
    "lease": frozenset({"name", "start_date", "end_date", "status", "degraded"}),
    "reservation": frozenset({"resource_type", "status", "missing_resources", "resources_changed"}),
    "event": frozenset({"event_type", "status"}),
}
"""What is known of each part after a change that is not whole."""


def show_changes(
    history: LeaseHistory, show: Callable[[Lease], Shown], *, names_operators: bool
) -> Iterator[ChangeAnswer]:
    """Yield each change with what it has changed, in what the caller sees of the lease (`show`)."""
    before = history.before
    for change in history.changes:
        shown = None if before is None else show(before.lease)
        whole = change.whole and (before is None or before.whole)
        by, user = _who(change, names_operators=names_operators)
        yield {
            "id": change.id,
            "time": change.time.isoformat(),
            "type": change.type,
            "by": by,
            "user_id": user,
            "whole": change.whole,
            "changes": list(_differences(shown, show(change.lease), whole=whole)),
        }
        before = change


def show_held(each: Segment, *, named: bool) -> HeldAnswer:
    """Return what a reservation held, from when to when; `named` says whether the caller may know which resource."""
    return {
        **show_held_then(each, named=named),
        "start_date": to_wire(each.window.start),
        "end_date": to_wire(each.window.end),
        "going_on": each.open,
        "start_cause": each.start_cause,
        "end_cause": each.end_cause,
    }


def show_held_then(each: Segment, *, named: bool) -> HeldThen:
    """Return what a reservation held at a moment."""
    return {
        "reservation_id": each.reservation_id,
        "resource_type": each.resource_type,
        "name": each.label if named else None,
        "slots": each.slots,
        "demand": None if each.demand is None else dict(each.demand),
    }


def _who(change: Change, *, names_operators: bool) -> tuple[str | None, str | None]:
    """Return who has asked for a change, as far as the caller may know it."""
    if change.actor is None:
        return "service" if change.whole else None, None
    if change.actor.project_id == change.lease.project_id:
        return "project", change.actor.user_id
    return "operator", change.actor.user_id if names_operators else None


def _differences(before: Shown | None, after: Shown, *, whole: bool) -> Iterator[DifferenceAnswer]:
    """Yield what differs between two answers about a lease; before the first everything is null."""
    yield from _of_part("lease", before or {}, after, whole=whole)
    for part, key in PARTS.items():
        known = {each["id"]: each for each in (before or {}).get(key, ())}
        for each in after[key]:
            yield from _of_part(part, known.get(each["id"], {}), each, whole=whole)


def _of_part(part: str, before: Shown, after: Shown, *, whole: bool) -> Iterator[DifferenceAnswer]:
    for key, value in after.items():
        compared = key not in SAME and key not in PARTS.values() and (whole or key in TOLD[part])
        if compared and before.get(key) != value:
            yield {"part": part, "id": after["id"], "key": key, "before": before.get(key), "after": value}
