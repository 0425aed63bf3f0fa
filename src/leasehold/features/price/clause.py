"""The clause of prices: what a decision promises is agreed at the prices of its moment, in its transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from leasehold.features.price.agreement import NO_AGREEMENT, Agreement, Has, renewed
from leasehold.features.price.encumbering import Budgets, Wish
from leasehold.features.price.model import FREE, Goods
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import add_agreement, change_agreement, find_agreement
from leasehold.leasing.deciding.allocations import held_by
from leasehold.model.actor import actor_of
from leasehold.model.allocation import slots_of
from leasehold.model.event_log import ENDED_BY_OTHERS
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.conf.settings import Settings
    from leasehold.db.together import Writer
    from leasehold.features.price.agreement import Quote
    from leasehold.features.price.model import Prices, Tariff
    from leasehold.leasing.deciding.clause import Clause, Transaction
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.model.allocation import Pick
    from leasehold.model.lease import Lease

_ENDING = frozenset({LeaseStatus.DELETING, LeaseStatus.TERMINATING, LeaseStatus.TERMINATED})


def make_clause(settings: Settings) -> Clause | None:
    """Return the clause; None where nothing has a price."""
    prices = settings.of(PriceSettings).prices
    return None if prices is None else PriceClause(Budgets(prices))


@dataclass(frozen=True, slots=True)
class PriceClause:
    """Agrees with the owner of a lease what a decision makes of it.

    A lease that Leasehold itself moves keeps what was agreed, and so does one with other resources in place of those
    that it had. Sub-leases cost their holders nothing: their lenders pay.
    """

    budgets: Budgets

    def __call__(self, within: Transaction, decision: Decision) -> Decision:
        """Return the decision with the agreement beside it."""
        lease, now = decision.lease, decision.locks.now
        if lease.is_maintenance or lease.lent is not None or _is_moved(decision):
            return decision
        parts = [] if _is_over(lease) else list(self._parts(within, decision))
        if not parts and not _is_over(lease):
            return decision
        known = None if _is_new(decision) else find_agreement(within.connection, lease.id)
        before = _before(decision) if known is None else known
        after = self.budgets.take(within.connection, Wish(lease, before, parts, now, free=_is_free(decision)))
        if after == known or (known is None and not after.costs):
            return decision
        write = add_agreement if known is None else change_agreement
        kept = partial(_write, write, after, to_seconds(now))
        return replace(decision, beside=(*decision.beside, kept))

    def _parts(self, within: Transaction, decision: Decision) -> Iterator[Has]:
        """Yield what each reservation has from now on, if the decision says so."""
        taken = list(decision.taken)
        if not taken:
            return
        lease, now = decision.lease, decision.locks.now
        types = {part.id: part.resource_type for part in lease.reservations}
        had = numbers_of(decision.before)
        with within.snapshots(decision.locks) as views:
            for ident, pool, _, picks in taken:
                yield Has(ident, lease.window, quoted(self.budgets.prices, types[ident], views[pool], picks, now, had))


def quoted(
    prices: Prices,
    resource_type: str,
    view: Snapshot,
    picks: Sequence[Pick],
    now: datetime,
    had: Collection[int],
) -> list[tuple[Quote, int]]:
    """Return the quote of each pick for a promise of now, and its units; those last that the lease has not `had`."""
    ordered = sorted(picks, key=lambda pick: pick.resource_number not in had)
    return [
        (prices.quote(Goods(resource_type, view.values_of(pick.resource_number), pick.demand), now), pick.slots)
        for pick in ordered
    ]


def agreed_before(connection: Connection, before: Lease | None) -> Agreement:
    """Return what is agreed about a lease as it is before a decision; about one that is new or waits, nothing."""
    if before is None or before.waits:
        return NO_AGREEMENT
    return find_agreement(connection, before.id) or free_agreement(before)


def numbers_of(lease: Lease | None) -> frozenset[int]:
    """Return the resources that a lease has."""
    parts = () if lease is None else lease.reservations
    return frozenset(held.resource_number for part in parts for held in part.allocations)


def _is_new(decision: Decision) -> bool:
    """Say whether the lease had nothing before, so nothing is agreed about it yet."""
    return decision.before is None or decision.before.waits


def _is_free(decision: Decision) -> bool:
    """Say whether what is given up costs nothing: of an offer that nobody has accepted, or not by the lease's owner."""
    told = {each if isinstance(each, str) else each[0] for each in decision.news}
    is_offer = decision.before is not None and decision.before.status is LeaseStatus.OFFERED
    return is_offer or not ENDED_BY_OTHERS.isdisjoint(told)


def _is_over(lease: Lease) -> bool:
    return lease.deleted_at is not None or lease.status in _ENDING


def _is_moved(decision: Decision) -> bool:
    """Say whether Leasehold itself gives a lease another window of the same length."""
    before, after = decision.before, decision.lease
    if before is None or before.waits or before.window == after.window or actor_of(after.id, "lease.update"):
        return False
    return before.window.duration == after.window.duration


def _before(decision: Decision) -> Agreement:
    """Return the agreement about a lease that has none."""
    return NO_AGREEMENT if decision.before is None or _is_new(decision) else free_agreement(decision.before)


def free_agreement(lease: Lease) -> Agreement:
    """Return what was agreed about a lease when nothing had a price: what it has costs nothing."""
    parts = [Has(part.id, lease.window, [(_free, slots_of(held_by(part, lease)))]) for part in lease.kept]
    return renewed(NO_AGREEMENT, parts, lease.window.start)


def _free(_notice: timedelta) -> Tariff:
    return FREE


def _write(
    write: Callable[[Writer, Lease, Agreement, int], None], agreed: Agreement, moment: int, writes: Writer, lease: Lease
) -> None:
    write(writes, lease, agreed, moment)
