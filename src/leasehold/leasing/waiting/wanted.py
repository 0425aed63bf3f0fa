"""What leases that wait could have as soon as all resources are ready that are not (features F1 and K2)."""

from __future__ import annotations

from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from leasehold.calendar.weighing import FIRST_FIT
from leasehold.db.leases.lease import find_leases
from leasehold.db.waiting import MOST, waiting_for
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.waiting.waiting_list import asked_of, could_have, with_closed
from leasehold.model.errors import TakesTooLongError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease


def wanted_by_waiting(service: Service, pools: Collection[str]) -> frozenset[int]:
    """Return the numbers of the resources that leases would get when all are ready, if that begins now.

    What is ready now is taken first. Those leases count that wait for any of these pools and begin when they get
    something, longest waiting first, each without what those before it would get. One that would get nothing all the
    same wants nothing. No lock is held, and nothing is promised: what is wanted may be somebody's by then.
    """
    waiting = _waiting(service, pools)
    if not waiting:
        return frozenset()
    asked = list(chain.from_iterable(each for _, each in waiting))
    mine = {part.kind.pool for part in asked}
    return service.look(mine, partial(_wanted, service, waiting), conditions_asked(asked))


def _waiting(service: Service, pools: Collection[str]) -> Sequence[tuple[Lease, Sequence[Asked]]]:
    """Return the leases, each with what it asks for."""
    now = service.now()
    with service.db.reading() as connection:
        found = (each for each in islice(waiting_for(connection, pools), MOST) if not each.waiting.draws)
        ids = [each.id for each in found if not each.waiting.passed_over and not each.waiting.expired(now)]
        leases = {each.id: each for each in find_leases(connection, ids)}
        known = [leases[ident] for ident in ids if ident in leases and leases[ident].waits]
        begun = [each for each in known if each.window.start <= now]
        return [(each, with_closed(connection, each, asked_of(service, each))) for each in begun]


def _wanted(
    service: Service,
    waiting: Sequence[tuple[Lease, Sequence[Asked]]],
    snapshots: Mapping[str, Snapshot],
    now: datetime,
) -> frozenset[int]:
    """Return what they would get in the time that a look may take; those who come after that want nothing yet."""
    # What is not ready counts as taken until it is, and so is free after the cleaning time.
    ready = ((view.ready_at, service.margins.of(pool)) for pool, view in snapshots.items())
    then = max((at + margin for at, margin in ready if at is not None), default=now)
    views = {pool: view.weighed(FIRST_FIT) for pool, view in snapshots.items()}
    budget, numbers = service.budget().part(service.settings.leases.rebinding_seconds), set[int]()
    for lease, asked in waiting:
        try:
            found = could_have(service, lease, asked, views, then, budget)
        except TakesTooLongError:
            break
        if found is not None:
            granted, terms = found
            for part, picks in zip(asked, granted, strict=True):
                views[part.kind.pool] = views[part.kind.pool].booked(part.takes(picks), terms.held(part.ending))
                numbers.update(pick.resource_number for pick in picks)
    return frozenset(numbers)
