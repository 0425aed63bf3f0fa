"""The leases that wait: which of them have to be granted before a lease may be (feature A17).

A lease is not granted while one that comes before it would fit at the same moment. One that would not fit delays
nobody, and neither does one whose last try was refused for another reason, such as a limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_leases
from leasehold.db.resources.property import private_keys
from leasehold.db.waiting import MOST, count_granted, waiting_for
from leasehold.leasing.deciding.decide import Asked, RefusedError, Terms, decide, promised_window, seen_by_users
from leasehold.leasing.deciding.default_properties import names_properties
from leasehold.leasing.deciding.waiting_order import OrderGrounds, ReadingOrder, ahead_of
from leasehold.leasing.sight import closed_names
from leasehold.leasing.waiting.holds import is_held
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.terms.lead import Lead
from leasehold.model.terms.waiting import AskedPart, WaitingLease, window_at
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.waiting_order import WaitingOrder
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Pick
    from leasehold.model.budget import Budget
    from leasehold.model.lease import Lease
    from leasehold.model.terms.waiting import Waiting


BEHIND = "Other leases that wait come first."
AFTER_YOU = timedelta(seconds=1)
"""When a lease is tried again that let another one go first."""


def as_waiting(lease: Lease, waiting: Waiting) -> WaitingLease:
    """Return a lease that waits, or is about to, as one of those that an order ranks."""
    asks = tuple(AskedPart(part.resource_type, part.request, lease.window.duration) for part in lease.reservations)
    return WaitingLease(lease.id, lease.project_id, lease.user_id, waiting, asks=asks)


def asked_of(service: Service, lease: Lease) -> list[Asked]:
    """Return what a lease asks for; raises MissingPluginError."""
    kinds = [(service.types.get(part.resource_type).kind, part) for part in lease.reservations]
    return [
        Asked(kind, kind.load(part.request), ending=part.ending, default=part.default_properties)
        for kind, part in kinds
    ]


def with_closed(connection: Connection, lease: Lease, asked: Sequence[Asked]) -> Sequence[Asked]:
    """Return what a waiting lease asks for; what has become private since is hidden from it if it holds nothing."""
    types = {part.kind.resources for part in asked if names_properties(part.kind, part.request)}
    if not types or lease.waiting is None or lease.waiting.sees_private or is_held(lease):
        return asked
    private = private_keys(connection, types)
    return [replace(part, hidden=closed_names(private, part.kind, part.request)) for part in asked]


def leases_ahead(service: Service, connection: Connection, lease: WaitingLease) -> Sequence[WaitingLease]:
    """Return the leases that come before this one, which waits or is about to, for any of its pools."""
    others = [each for each in waiting_for(connection, lease.waiting.pools) if each.id != lease.id]
    if not others:
        return []
    order, everyone = order_of(service, connection, [*others, lease])
    return ahead_of(order, everyone, lease.id, MOST)


def order_of(
    service: Service, connection: Connection, leases: Sequence[WaitingLease]
) -> tuple[WaitingOrder, Sequence[WaitingLease]]:
    """Return the order in which these leases come, and the leases with all that it goes by."""
    now = service.now()
    counts = count_granted(connection, {each.project_id for each in leases}, now)
    everyone = [replace(each, granted=counts[each.project_id]) for each in leases]
    order = service.waiting_order
    if isinstance(order, ReadingOrder):
        order = order.read(OrderGrounds(connection, now, service.settings, service.types), everyone)
    return order, everyone


def pools_to_lock(service: Service, connection: Connection, lease: WaitingLease) -> set[str]:
    """Return the pools of a lease and of those that come before it: what a fair decision locks."""
    return set(lease.waiting.pools).union(*(each.waiting.pools for each in leases_ahead(service, connection, lease)))


@dataclass(frozen=True, slots=True)
class WaitingList:
    """The leases that wait; `snapshots` are of the locked pools, and `budget` bounds the search.

    Those in `settled` wait no more.
    """

    service: Service
    locks: Locks
    snapshots: Mapping[str, Snapshot]
    budget: Budget
    settled: Collection[str] = ()

    def first_ahead(self, lease: WaitingLease) -> str | None:
        """Return the first lease that comes before this one and would fit now; None if none would.

        If the search takes too long, nobody is ahead any more.
        """
        ids = [
            each.id
            for each in leases_ahead(self.service, self.locks.connection, lease)
            if each.id not in self.settled and self._may_be_granted(each.waiting)
        ]
        if not ids:
            return None
        found = {lease.id: lease for lease in find_leases(self.locks.connection, ids)}
        try:
            return next((each for each in ids if each in found and self._fits(found[each])), None)
        except TakesTooLongError:
            return None

    def _may_be_granted(self, waiting: Waiting) -> bool:
        seen = waiting.pools <= self.snapshots.keys()
        return seen and not waiting.passed_over and not waiting.expired(self.locks.now)

    def _fits(self, lease: Lease) -> bool:
        if not lease.waits:
            return False
        try:
            asked = with_closed(self.locks.connection, lease, asked_of(self.service, lease))
        except LeaseholdError:
            return False
        return could_have(self.service, lease, asked, self.snapshots, self.locks.now, self.budget) is not None


def could_have(
    service: Service,
    lease: Lease,
    asked: Sequence[Asked],
    snapshots: Mapping[str, Snapshot],
    now: datetime,
    budget: Budget,
) -> tuple[list[Sequence[Pick]], Terms] | None:
    """Return what a lease that waits would get now, and on what terms; None: nothing. Raises TakesTooLongError."""
    use_disabled = lease.waiting is not None and lease.waiting.use_disabled
    window = window_at(lease.window, now)
    ahead = promised_window(window.start, window.end, now)
    terms = Terms(ahead, window.duration, service.margins, budget, Explain.NOTHING, use_disabled)
    terms = replace(terms, lead=Lead(lease.lead, now))
    try:
        return decide(views_of(service, lease, snapshots), asked, terms), terms
    except TakesTooLongError:
        raise
    except (LeaseholdError, RefusedError):
        return None


def views_of(service: Service, lease: Lease, snapshots: Mapping[str, Snapshot]) -> dict[str, Snapshot]:
    """Return the pools as a lease that waits may use them, with what is held for it."""
    mine = seen_by_users(service.types, snapshots, lease)
    return {name: each.among(each.eligible.seen_by(lease.id)) for name, each in mine.items()}
