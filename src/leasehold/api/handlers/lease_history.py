"""The past of a lease, from 1.3 on (feature L9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.paging import Choice, asked_page
from leasehold.api.policies import lease as lease_rules
from leasehold.api.views.lease import lease_view, show_lease
from leasehold.api.views.lease_history import show_changes, show_held, show_held_then
from leasehold.leasing.lease_history import UnknownChangeError, lease_as_of, lease_history
from leasehold.model.paging import unknown_marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from leasehold.api.call import Call
    from leasehold.model.lease import Lease
    from leasehold.model.segment import Segment

    Shown = TypeVar("Shown")

AS_OF: Final = "as_of"
LISTED = Choice()
"""The changes keep their order, and are paged."""


def show(call: Call, lease: Lease) -> Reply:
    """Show the past of a lease, also of a deleted one: each change with the values before and after, and what it held.

    What resources it held is in half-open intervals, and names them only to who may list hosts. The changes are paged
    by `limit` and `marker`. A lease that was purged has no past.
    """
    _check_deleted(call, lease)
    limit, marker = asked_page(call)
    try:
        found = lease_history(call.service, lease.id, marker, limit)
    except UnknownChangeError:
        raise unknown_marker() from None
    view = lease_view(call.service.types, call.version, call.sight)
    changes = show_changes(found, lambda then: view(then, then.event_fields), names_operators=call.is_admin)
    return Reply(
        {
            "lease_id": lease.id,
            "project_id": lease.project_id,
            "deleted_at": dates.to_record(lease.deleted_at),
            "changes": list(changes),
            "held": _held(call, lease, found.held, show_held),
        }
    )


def show_then(call: Call, lease: Lease) -> Reply:
    """Show a lease as it was at the moment `as_of` of the query, and what it held then."""
    call.api.policies.require(lease_rules.GET_HISTORY, call.caller, lease)
    _check_deleted(call, lease)
    text, now = call.query(AS_OF) or dates.NOW, call.service.now()
    moment = dates.parse_moment(text, version=call.version, now=now, field=AS_OF)
    then = lease_as_of(call.service, lease.id, moment)
    return Reply(
        {
            "lease": show_lease(then.lease, call.service.types, call.version, call.sight),
            "held": _held(call, lease, then.held, show_held_then),
        }
    )


def _check_deleted(call: Call, lease: Lease) -> None:
    if lease.deleted_at is not None:
        call.api.policies.require(lease_rules.GET_DELETED, call.caller, lease)


def _held(call: Call, lease: Lease, held: Iterable[Segment], show_one: Callable[..., Shown]) -> Sequence[Shown] | None:
    """Return what a lease held; None if the caller may not see what leases have."""
    if not call.api.policies.allows(lease_rules.GET_RESOURCES, call.caller, lease):
        return None
    hosts, types = call.sight.hosts, call.service.types

    def named(each: Segment) -> bool:
        found = types.find(each.resource_type)
        return hosts or (found is not None and found.kind.public)

    return [show_one(each, named=named(each)) for each in held]
