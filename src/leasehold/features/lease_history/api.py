"""The history of a lease, from 1.3 on: nothing that the lease would not have shown to the caller then (feature L9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.handlers.lease_then import check_deleted, held_as_seen, show_held_then
from leasehold.api.models.holding import HeldThen
from leasehold.api.paging import ListKeys, asked_page
from leasehold.api.policies import lease as lease_rules
from leasehold.api.route import V1_3
from leasehold.api.views.lease import lease_view
from leasehold.api.views.shown import shown
from leasehold.features.lease_history.use import lease_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leasehold.api.call import Call
    from leasehold.features.lease_history.use import LeaseHistory
    from leasehold.model.lease import Lease
    from leasehold.model.lease_then import LeaseChange
    from leasehold.model.segment import Segment

    Shown = Mapping[str, Any]


class HeldAnswer(HeldThen):
    """What a reservation held from `start_date`, included, to `end_date`, excluded; to the second, in UTC.

    `going_on` says that it still does; the end is then the present. The causes are null where none was recorded.
    """

    start_date: str
    end_date: str
    going_on: bool
    start_cause: str | None
    end_cause: str | None


class DifferenceAnswer(TypedDict):
    """A value that has changed: a key of the `lease`, or of the `reservation` or the `event` with this id."""

    part: str
    id: str
    key: str
    before: Any
    after: Any


class ChangeAnswer(TypedDict):
    """A change of a lease. `type` is that of the event that told of it, null if none did; the time is in ISO 8601.

    `by` is `project` for somebody in the lease's project, `operator` for somebody else who may, `service` for Leasehold
    itself, and null if it is not known. `user_id` says who it was; that of an operator is shown to administrators only.
    `whole` false: an older version has recorded it, and only dates, statuses and the name are compared.
    """

    id: str
    time: str
    type: str | None
    by: str | None
    user_id: str | None
    whole: bool
    changes: list[DifferenceAnswer]


class LeaseHistoryAnswer(TypedDict):
    """All recorded changes of a lease, oldest first; the first has no values before.

    `held` is null for callers who may not see what leases have.
    """

    lease_id: str
    project_id: str
    deleted_at: str | None
    changes: list[ChangeAnswer]
    held: list[HeldAnswer] | None


LISTED = ListKeys()
"""The changes keep their order, and are paged."""
SAME = frozenset({"id", "lease_id", "user_id", "project_id", "trust_id", "created_at", "updated_at"})
"""Keys that never change, and the one that changes each time."""
PARTS = {"reservation": "reservations", "event": "events"}
TOLD = {
    "lease": frozenset({"name", "start_date", "end_date", "status", "degraded"}),
    "reservation": frozenset({"resource_type", "status", "missing_resources", "resources_changed"}),
    "event": frozenset({"event_type", "status"}),
}
"""What is known of each part after a change that is not whole."""


def show(call: Call, lease: Lease) -> Reply:
    """Show the past of a lease, also of a deleted one: each change with the values before and after, and what it held.

    What resources it held is in half-open intervals, and names them only to who may list hosts. The changes are paged
    by `limit` and `marker`. A lease that was purged has no past.
    """
    check_deleted(call, lease)
    limit, marker = asked_page(call)
    found = lease_history(call.service, lease.id, marker, limit)
    view = lease_view(call.service.types, call.version, call.sight)
    changes = show_changes(found, lambda then: view(then, then.event_fields), names_operators=call.is_admin)
    return Reply(
        {
            "lease_id": lease.id,
            "project_id": lease.project_id,
            "deleted_at": dates.to_record(lease.deleted_at),
            "changes": list(changes),
            "held": held_as_seen(call, lease, found.held, show_held),
        }
    )


def show_changes(
    history: LeaseHistory, show: Callable[[Lease], Shown], *, names_operators: bool
) -> Iterator[ChangeAnswer]:
    """Yield each change with what it has changed, in what the caller sees of the lease (`show`)."""
    before = history.before
    for change in history.changes:
        lease = None if before is None else show(before.lease)
        whole = change.whole and (before is None or before.whole)
        by, user = _who(change, names_operators=names_operators)
        changes = list(_differences(lease, show(change.lease), whole=whole))
        yield shown(ChangeAnswer, change, by=by, user_id=user, changes=changes)
        before = change


def show_held(each: Segment, *, named: bool) -> HeldAnswer:
    """Return what a reservation held, from when to when; `named` says whether the caller may know which resource."""
    return {
        **show_held_then(each, named=named),
        "start_date": dates.to_wire(each.window.start),
        "end_date": dates.to_wire(each.window.end),
        "going_on": each.open,
        "start_cause": each.start_cause,
        "end_cause": each.end_cause,
    }


def _who(change: LeaseChange, *, names_operators: bool) -> tuple[str | None, str | None]:
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
    # What a lease has no more, such as a purpose, is in the answer before alone.
    for key, value in {**dict.fromkeys(before), **after}.items():
        compared = key not in SAME and key not in PARTS.values() and (whole or key in TOLD[part])
        if compared and before.get(key) != value:
            yield {"part": part, "id": after["id"], "key": key, "before": before.get(key), "after": value}


ROUTES = (
    V1_3(
        "GET",
        "/v1/leases/{lease_id}/history",
        show,
        (lease_rules.GET, lease_rules.GET_HISTORY),
        answer=LeaseHistoryAnswer,
        query=LISTED.query,
        past=True,
        within=(lease_rules.GET_DELETED,),
    ),
)
