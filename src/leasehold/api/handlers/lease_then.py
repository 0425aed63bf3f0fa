"""A lease as it was at a moment, from 1.3 on (feature L9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.models.holding import HeldThen
from leasehold.api.policies import lease as lease_rules
from leasehold.api.views.lease import show_lease
from leasehold.api.views.shown import shown
from leasehold.leasing.reading.lease_then import lease_as_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from leasehold.api.call import Call
    from leasehold.model.lease import Lease
    from leasehold.model.segment import Segment

    Shown = TypeVar("Shown")

AS_OF: Final = "as_of"


def show_then(call: Call, lease: Lease) -> Reply:
    """Show a lease as it was at the moment `as_of` of the query, and what it held then."""
    call.api.policies.require(lease_rules.GET_HISTORY, call.caller, lease)
    check_deleted(call, lease)
    text, now = call.query(AS_OF) or dates.NOW, call.service.now()
    moment = dates.parse_moment(text, version=call.version, now=now, field=AS_OF)
    then = lease_as_of(call.service, lease.id, moment)
    return Reply(
        {
            "lease": show_lease(then.lease, call.service.types, call.version, call.sight),
            "held": held_as_seen(call, lease, then.held, show_held_then),
        }
    )


def check_deleted(call: Call, lease: Lease) -> None:
    """Raise ForbiddenError for a deleted lease of which the caller must see nothing."""
    if lease.deleted_at is not None:
        call.api.policies.require(lease_rules.GET_DELETED, call.caller, lease)


def held_as_seen(
    call: Call, lease: Lease, held: Iterable[Segment], show_one: Callable[..., Shown]
) -> Sequence[Shown] | None:
    """Return what a lease held; None if the caller may not see what leases have."""
    if not call.api.policies.allows(lease_rules.GET_RESOURCES, call.caller, lease):
        return None
    hosts, types = call.sight.hosts, call.service.types

    def named(each: Segment) -> bool:
        found = types.find(each.resource_type)
        return hosts or (found is not None and found.kind.public)

    return [show_one(each, named=named(each)) for each in held]


def show_held_then(each: Segment, *, named: bool) -> HeldThen:
    """Return what a reservation held at a moment."""
    return shown(HeldThen, each, name=each.label if named else None)
