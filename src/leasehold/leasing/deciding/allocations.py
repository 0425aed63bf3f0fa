"""Which of a reservation's allocations still count, and how an amendment moves them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.allocation import Grant, Shift, end_allocations, insert_allocations, leave_allocations
from leasehold.leasing.deciding.decide import promised_window
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError
from leasehold.model.segment import Cause
from leasehold.model.states import EventType
from leasehold.model.terms.lead import Lead
from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.locks import Locks
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.terms.ending import Ending
    from leasehold.resource_types.registry import ResourceTypes


def lasts(held: Allocation, lease: Lease) -> bool:
    """Return whether an allocation lasts to the end of its lease.

    One that ended earlier, as by an amendment, may still wait for its release; it is never prolonged with the lease.
    One on a vacated host is no longer used. Times are compared in whole seconds, as allocations store them.
    """
    if held.released_at is not None or held.left_at is not None:
        return False
    return held.window.end > held.window.start and to_seconds(held.window.end) >= to_seconds(lease.window.end)


def pool_of(part: Reservation, types: ResourceTypes) -> str | None:
    """Return the pool of a reservation: its allocations name it, also without its plugin.

    None for one that never had an allocation and whose plugin cannot be used: it can get none.
    """
    if part.allocations:
        return part.allocations[0].pool
    found = types.find(part.resource_type)
    return None if found is None else found.kind.pool


def pools_of(lease: Lease, types: ResourceTypes) -> set[str]:
    """Return the pools of a lease's reservations."""
    found = (pool_of(part, types) for part in lease.reservations)
    return {pool for pool in found if pool is not None}


def held_by(part: Reservation, lease: Lease) -> list[Allocation]:
    """Return the allocations of a reservation that last to the end of its lease."""
    return [held for held in part.allocations if lasts(held, lease)]


def leaving(part: Reservation, lease: Lease) -> list[Allocation]:
    """Return the allocations that ended before their lease did, and are not released yet."""
    over = [held for held in part.allocations if held.released_at is None and not lasts(held, lease)]
    return [held for held in over if held.left_at is None]


def left_by(part: Reservation) -> list[Allocation]:
    """Return the unreleased allocations on vacated hosts, which may still have the reservation's servers."""
    return [held for held in part.allocations if held.released_at is None and held.left_at is not None]


def lost_by(part: Reservation) -> list[Allocation]:
    """Return those in `left_by` whose resources failed: the reservation may take them back with their servers.

    One that its owner gave up is none of them.
    """
    return [held for held in left_by(part) if not held.given_up]


def by_number(taken: Iterable[Allocation | Pick]) -> Counter[int]:
    """Return how many slots are taken of each resource."""
    found: Counter[int] = Counter()
    for each in taken:
        found[each.resource_number] += each.slots
    return found


def taken_back(
    left: Sequence[Allocation], before: Iterable[Allocation | Pick], after: Iterable[Pick]
) -> tuple[list[Allocation], list[Pick]]:
    """Return the vacated allocations whose resources a reservation gets again, and what of them stays vacated.

    It had `before` and has `after`. The slots that come back are those of its servers there. Where fewer come back than
    were vacated, the others may still have servers, and are kept from other leases until these are gone.
    """
    more = by_number(after) - by_number(before)
    back = [held for held in left if held.resource_number in more]
    demands = {held.resource_number: held.demand for held in back}
    return back, [Pick(number, slots, demands[number]) for number, slots in (by_number(back) - more).items()]


def check_left(
    left: Sequence[Allocation], held: Sequence[Pick], picks: Sequence[Pick], others: Snapshot, window: Window
) -> None:
    """Raise InUseError if a vacated host may have servers and is allocated to other leases in the window.

    The reservation had `held` and gets the picks. `others` is a snapshot of the other leases' allocations.
    """
    back, rest = taken_back(left, held, picks)
    stays: list[Allocation | Pick] = [*(each for each in left if each not in back), *rest]
    taken = by_number((*picks, *stays))
    for each in stays:
        (row,) = others.rows([each.resource_number])
        if each.demand is None:
            fits = others.free(window)[row]
        else:
            fits = others.slots(window, each.demand)[row] >= taken[each.resource_number]
        if not fits:
            message = (
                "Servers of the lease may be left on a host that it vacated, and that is allocated to other leases in "
                "the new window. Delete those servers and ask again a few minutes later, or ask for an earlier end."
            )
            raise InUseError(message, field="end_date")


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One reservation whose allocations in its pool move with its lease to another window, at this moment.

    `ending` is how the reservation ends from now on. `vacated` are the ids of the allocations that it gives up unused;
    with `leaves`, servers that come there all the same stay (`Vacating`).
    """

    lease: Lease
    part: Reservation
    pool: str
    window: Window
    now: datetime
    ending: Ending
    vacated: frozenset[int] = frozenset()
    leaves: bool = False

    @property
    def ahead(self) -> Window:
        """The part that still lies ahead of the time in which it holds resources."""
        begin = Lead(self.lease.lead, self.now).reserved(self.window).start
        return promised_window(begin, self.ending.held(self.window).end, self.now)

    def moved(self, held: Allocation) -> Window:
        """Return the new window of an allocation that stays: a bound changes only if that of the lease, or its ending.

        An unchanged bound keeps the allocation's own time, which may be later than the lease's start. Time that has
        passed is never allocated again: another lease may have had the resource since.
        """
        before = self.lease.window
        same_start = self.window.start == before.start
        if same_start and not self.window.duration and not self.lease.reached(EventType.START):
            # It is never started, so nothing is reserved for the work of its start.
            same_start = held.window.start >= self.window.start
        begin = held.window.start if same_start else self.ahead.start
        same_end = self.window.end == before.end and self.ending == self.part.ending
        end = held.window.end if same_end else self.ahead.end
        return Window(begin, max(begin, end))

    @property
    def cause(self) -> Cause:
        """Why the segments of the allocations that stay end."""
        if self.window.end > self.lease.window.end:
            return Cause.EXTENDED
        return Cause.ENDED_EARLY if self.window.end <= self.now else Cause.AMENDED


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What becomes of the allocations of a reservation: they `stay` with other windows, and `writes` change all else.

    Most amendments change nothing else, so that many of them are written together.
    """

    stay: Sequence[Shift]
    writes: Sequence[Callable[[Locks], None]]


def rewritten(to: Rewriting, picks: Sequence[Pick]) -> Rewritten:
    """Return which allocations stay, and what ends those that go and inserts the new ones."""
    wanted = Counter(_key(pick) for pick in picks)
    stays: dict[Window, list[Allocation]] = {}
    goes: list[Allocation] = []
    before = [held for held in held_by(to.part, to.lease) if held.id not in to.vacated]
    for held in before:
        if wanted[_key(held.pick)] > 0:
            wanted[_key(held.pick)] -= 1
            stays.setdefault(to.moved(held), []).append(held)
        else:
            goes.append(held)
    # The reservation may get a vacated host back when it works again.
    again, rest = taken_back(left_by(to.part), before, picks)
    for held in left_by(to.part):
        if held not in again:
            stays.setdefault(to.moved(held), []).append(held)
    fresh = []
    for pick in picks:
        if wanted[_key(pick)] > 0:
            wanted[_key(pick)] -= 1
            fresh.append(pick)
    stay = [Shift(to.pool, staying, window, to.cause) for window, staying in stays.items()]
    change = _Change(goes, again, rest, fresh, frozenset(pick.resource_number for pick in picks))
    return Rewritten(stay, [partial(_write, to, change)] if change.anything or to.vacated else [])


@dataclass(frozen=True, slots=True)
class _Change:
    """What of a reservation goes, is `again` its own, stays vacated as the `rest`, and is new; what it uses then."""

    goes: Sequence[Allocation]
    again: Sequence[Allocation]
    rest: Sequence[Pick]
    fresh: Sequence[Pick]
    used: frozenset[int]

    @property
    def anything(self) -> bool:
        """Whether anything changes but windows."""
        return bool(self.goes or self.again or self.rest or self.fresh)


def _write(to: Rewriting, change: _Change, locks: Locks) -> None:
    """End the allocations that go, and insert the new ones."""
    connection, after = locks.connection, locks.next(to.pool)
    if change.again:
        end_allocations(connection, change.again, after, to.now, Cause.AMENDED, released=True)
    _end(to, change.goes, change.used, locks)
    _vacate(to, locks)
    # A substitute that gets other slots is still one (feature J4).
    substitutes = {held.resource_number for held in change.goes if held.substitute}
    grant = partial(Grant, to.pool, after, to.lease.id, to.part.id, to.ahead)
    grants = [grant(pick, pick.resource_number in substitutes) for pick in change.fresh]
    grants += [grant(pick, left_at=to.now) for pick in change.rest]
    insert_allocations(connection, grants, Cause.AMENDED)


def _end(to: Rewriting, goes: Sequence[Allocation], stays: Collection[int], locks: Locks) -> None:
    """End the allocations that go.

    A resource that was never touched, or that the reservation keeps with other slots, is released at once. One that a
    start may have touched is released later, when its cloud objects are removed.
    """
    touched = to.lease.reached(EventType.START)
    for released in (True, False):
        ending = [held for held in goes if released == (not touched or held.resource_number in stays)]
        if ending:
            after = locks.next(to.pool)
            end_allocations(locks.connection, ending, after, to.now, Cause.AMENDED, released=released)


def _vacate(to: Rewriting, locks: Locks) -> None:
    """Vacate what the reservation gives up unused; something may have come there since the look at the cloud."""
    vacated = [held for held in to.part.allocations if held.id in to.vacated]
    connection, after = locks.connection, locks.next(to.pool)
    if not vacated:
        return
    if not to.lease.reached(EventType.START):
        end_allocations(connection, vacated, after, to.now, Cause.DROPPED, released=True, left=True)
    elif to.leaves:
        leave_allocations(connection, vacated, after, to.now, Cause.DROPPED)
    else:
        end_allocations(connection, vacated, after, to.now, Cause.DROPPED, released=False)


def _key(pick: Pick) -> tuple[int, int, frozenset[tuple[str, int]] | None]:
    return pick.resource_number, pick.slots, None if pick.demand is None else frozenset(pick.demand.items())
