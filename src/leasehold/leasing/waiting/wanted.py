"""What leases that wait could have as soon as all resources are ready that are not (features F1 and K2)."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from leasehold.calendar.weighing import FIRST_FIT
from leasehold.db.leases.lease import find_leases
from leasehold.db.waiting import MOST, waiting_for
from leasehold.leasing.deciding.decide import booked
from leasehold.leasing.waiting.waiting_list import asked_of, could_have, with_closed
from leasehold.model.errors import LeaseholdError, TakesTooLongError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

EACH: Final = 0.1
"""Seconds that one lease may take, so that none with slow properties keeps the others from what they want."""


def wanted_by_waiting(service: Service, pools: Collection[str]) -> frozenset[int]:
    """Return the numbers of the resources that leases would get when all are ready, if that begins now.

    What is ready now is taken first. Those leases count that wait for any of these pools and begin when they get
    something, longest waiting first, each without what those before it would get. One that would get nothing all the
    same wants nothing, nor does one that takes longer than `EACH`. No decision waits for it, and nothing is promised:
    what is wanted may be somebody's by then.
    """
    waiting = _waiting(service, pools)
    mine = {part.kind.pool for _, asked in waiting for part in asked}
    return service.look(mine, partial(_wanted, service, waiting), asks=True) if waiting else frozenset()


def _waiting(service: Service, pools: Collection[str]) -> Sequence[tuple[Lease, Sequence[Asked]]]:
    """Return the leases, each with what it asks for; those whose plugin is missing are left out."""
    now = service.now()
    waiting: list[tuple[Lease, Sequence[Asked]]] = []
    with service.db.reading() as connection:
        found = (each for each in islice(waiting_for(connection, pools), MOST) if not each.waiting.draws)
        ids = [each.id for each in found if not each.waiting.passed_over and not each.waiting.expired(now)]
        leases = {each.id: each for each in find_leases(connection, ids)}
        for lease in (leases[ident] for ident in ids if ident in leases):
            if lease.waits and lease.window.start <= now:
                with suppress(LeaseholdError):
                    waiting.append((lease, with_closed(connection, lease, asked_of(service, lease))))
    return waiting


def _wanted(
    service: Service,
    waiting: Sequence[tuple[Lease, Sequence[Asked]]],
    snapshots: Mapping[str, Snapshot],
    now: datetime,
) -> frozenset[int]:
    """Return what they would get; when the time of a decision is over, those who are left want nothing yet."""
    # What is not ready counts as taken until it is, and so is free after the cleaning time.
    ready = ((view.ready_at, service.margins.of(pool)) for pool, view in snapshots.items())
    then = max((at + margin for at, margin in ready if at is not None), default=now)
    views = {pool: view.weighed(FIRST_FIT) for pool, view in snapshots.items()}
    budget, numbers = service.budget(), set[int]()
    for lease, asked in waiting:
        with suppress(TakesTooLongError):
            if found := could_have(service, lease, asked, views, then, budget.part(EACH)):
                picks, terms = found
                views = booked(views, asked, picks, terms)
                numbers.update(pick.resource_number for each in picks for pick in each)
    return frozenset(numbers)
