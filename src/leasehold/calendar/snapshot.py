"""A pool at one moment: what is free of it when (design §4); `eligible.py` says what of it may be used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.arrays import ALL_OF_IT, FOR_EVER, MOST_CAPACITY, MOST_SLOTS, Counts, Mask, Rows
from leasehold.calendar.demands import ANYTHING, EXCLUSIVE
from leasehold.calendar.idle import IdlePeriods
from leasehold.calendar.outline import Outlook
from leasehold.calendar.readiness import EVER
from leasehold.calendar.store import owner_keys, row_start_keys
from leasehold.calendar.sweep import Held, Limit, fewest
from leasehold.calendar.weighing import FIRST_FIT, Books, Candidates, by_weight
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Seconds
    from leasehold.calendar.demands import DecisionDemands
    from leasehold.calendar.eligible import Eligible
    from leasehold.calendar.outlines import Outlines
    from leasehold.calendar.properties import Answers
    from leasehold.calendar.store import AllocationStore
    from leasehold.calendar.weighing import Weighers
    from leasehold.model.allocation import Pick
    from leasehold.model.windows import Window

_FIRST_ROWS, _MORE_ROWS = 128, 4
"""How many rows `slots_until` counts first, and the factor for each further round."""
_FEW = 8
"""Below 1/8 of the rows, look up the allocations row by row."""
_NONE = np.empty(0, np.intp)
NOTHING_ADDED = Held(_NONE, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))


def instants(window: Window) -> tuple[int, int]:
    """Return the window in seconds, at least one second long, because an empty window still needs its resource."""
    start, end = window.seconds
    return start, max(end, start + 1)


@dataclass(frozen=True, slots=True)
class _Touching:
    """What touches the window `times`: a mask of the positions in the store, and the added allocations."""

    times: tuple[int, int]
    mask: Mask
    added: Held


class Snapshot:
    """The resources of a pool, one row each in the order of `numbers`, their allocations, and what is `eligible`.

    Made by `Calendar.snapshot`, and valid until the calendar's next update. Returned masks and counts have shape
    (rows,), and the caller may change them.

    An allocation `[s, e)` touches a window `[a, b)` when s < b and e > a: windows that only meet do not touch. One
    that has ended but is not released lasts until just after the snapshot's moment, because a start waits for the
    release (design §5).
    """

    def __init__(
        self,
        demands: DecisionDemands,
        store: AllocationStore,
        outlines: Outlines,
        now: int,
        eligible: Eligible,
        *,
        overdue: Rows | None = None,
        weighers: Weighers = FIRST_FIT,
        added: Held = NOTHING_ADDED,
    ) -> None:
        """Read these tables as of `now`, in seconds since the epoch; `overdue` may be given if it is known already.

        The `weighers` order what would do. What is `added` takes resources as stored allocations do.
        """
        self.eligible: Final = eligible
        self._resources = eligible.resources
        self._demands = demands
        self._store = store
        self._outlines = outlines
        self._now = now
        self._overdue = store.overdue(now) if overdue is None else overdue
        # Cached, because one decision has several queries about one window.
        self._touched: _Touching | None = None
        self._own = _NONE
        self._added = added
        self._weighers = weighers

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The resources' numbers, ascending."""
        return self._resources.numbers

    def rows(self, numbers: Iterable[int]) -> Rows:
        """Return the rows of these resource numbers, in their order; raises `KeyError` for an unknown number."""
        return self._resources.rows(numbers)

    def values_of(self, number: int) -> Callable[[str], str | None]:
        """Return what says the value of a property of one resource; raises `KeyError` for an unknown number."""
        (row,) = self.rows([number]).tolist()
        return lambda name: self._resources.properties.value(name, row)

    def free(self, window: Window) -> Mask:
        """Return the mask of the resources that have no allocation at any instant of the window."""
        return self.idle(instants(window))

    def carrying(self, window: Window) -> Mask:
        """Return the mask of the resources that have a shared allocation at some instant of the window."""
        touching = self._touching(instants(window))
        return self._rows_of(touching, exclusive=False)

    def slots(self, window: Window, demand: Mapping[str, int], among: Mask | None = None) -> Counts:
        """Return how many slots of `demand` fit on each resource at every instant of the window.

        Exact: what is left at the busiest instant, class by class, each allocation counted with all its slots. 0 where
        an exclusive allocation touches the window, a class is missing or one slot exceeds the class's `max_unit`.
        A class of which 0 is demanded does not limit; without any limit the count is `MOST_SLOTS`.
        With `among`, only those rows are counted and all others are 0, which is faster the fewer they are.
        """
        return self.room(instants(window), self.limits(demand), among)

    def slots_until(
        self, window: Window, demand: Mapping[str, int], order: Rows, enough: Callable[[Counts], bool]
    ) -> Counts:
        """Return `slots` of the first rows in `order`, as many rows as it takes until `enough(counts)` is true.

        Rows that were not counted are 0. A decision that needs only the first few hosts of ten thousand need not count
        them all.
        """
        times, limits = instants(window), self.limits(demand)
        counts = np.zeros(len(self._resources), np.int64)
        done, size = 0, _FIRST_ROWS
        while done < order.size and not (done and enough(counts)):
            among = np.zeros(counts.size, np.bool_)
            among[order[done : done + size]] = True
            counts += self.room(times, limits, among)
            done, size = done + size, size * _MORE_ROWS
        return counts

    def ordered(self, rows: Rows, window: Window, resource_type: str) -> Rows:
        """Return rows of resources that would all do, those first that the weigher of this type takes first.

        They are given in the order in which they are taken by default, which stays the order of equal ones, but that
        those come first that are ready: the others need not wake up, or lose what they are used for meanwhile.
        """
        unready = self._unready.rows
        if unready.size:
            last = np.zeros(len(self._resources), np.bool_)
            last[unready] = True
            rows = np.concatenate([rows[~last[rows]], rows[last[rows]]])
        return by_weight(self._weighers.of(resource_type), partial(self._candidates, rows, window), rows)

    def _candidates(self, rows: Rows, window: Window) -> Candidates:
        books = Books(len(self._resources), self.held, self._resources.capacities, self._demands.amounts)
        return Candidates(self.numbers[rows], instants(window), self._now, rows, books)

    def without(self, reservation_ids: Collection[str]) -> Snapshot:
        """Return the same pool without these reservations' allocations: an amendment ignores its own."""
        mine = self._store.owned_by(owner_keys(reservation_ids).tolist())
        eligible = self.eligible.keeping(self._store.rows[mine].astype(np.intp))
        return self._but(own=np.concatenate([self._own, mine]), eligible=eligible)

    def booked(self, picks: Iterable[Pick], window: Window) -> Snapshot:
        """Return the same pool with these picks added: what was decided before in the same transaction.

        An empty window adds nothing. Raises `KeyError` for an unknown resource.
        """
        chosen = tuple(picks)
        start, end = window.seconds
        if start == end or not chosen:
            return self
        codes = [self._demands.code(pick.demand) for pick in chosen]
        slots = [1 if pick.demand is None else min(pick.slots, MOST_SLOTS) for pick in chosen]
        added = Held(
            self.rows([pick.resource_number for pick in chosen]),
            np.full(len(chosen), start),
            np.full(len(chosen), end),
            np.array(slots, np.int64),
            np.array(codes, np.int32),
        )
        return self._but(added=_joined(self._added, added))

    def among(self, eligible: Eligible) -> Snapshot:
        """Return the same pool in which a new allocation may use what is eligible here."""
        return self if eligible is self.eligible else self._but(eligible=eligible)

    def weighed(self, weighers: Weighers) -> Snapshot:
        """Return the same pool in which these weighers order what would do."""
        return self._but(weighers=weighers)

    def answering(self, answers: Answers | None) -> Snapshot:
        """Return the same pool with answers that were given before, if they were for the present properties."""
        if answers is None or answers.table is not self.eligible.answers.table:
            return self
        return self.among(replace(self.eligible, answers=answers))

    def for_project(self, *projects: str, open_too: int | None = None) -> Snapshot:
        """Return the same pool for a project (`Eligible.for_project`)."""
        return self.among(self.eligible.for_project(*projects, open_too=open_too))

    @property
    def unready(self) -> frozenset[int]:
        """The numbers of the resources that are there, and ready only some time after somebody needs them."""
        return frozenset(self.numbers[self._unready.rows].tolist())

    @property
    def _unready(self) -> Held:
        return self._added.part(self._added.starts == EVER)

    @property
    def ready_at(self) -> datetime | None:
        """When all of these are ready if somebody needs them now; None: all are."""
        ends = self._unready.ends
        return from_seconds(int(ends.max())) if ends.size else None

    def as_if_ready(self) -> Snapshot:
        """Return the same pool as if these were ready."""
        return self._but(added=self._added.part(self._added.starts != EVER))

    def careful(self) -> Snapshot:
        """Return the same pool in which allocations that have ended and are not released last for ever.

        It is unknown when they are released, so no window may be offered that needs their resources.
        """
        store = self._store
        late = np.setdiff1d(self._overdue, self._own)
        if not late.size:
            return self
        held = store.held(store.in_order(late))
        held.ends[:] = FOR_EVER
        return self._but(added=_joined(self._added, held), overdue=late[:0])

    def next_change(self, start: int, before: int, after: int, grain: int) -> int | None:
        """Return the next start on a multiple of `grain` whose window touches other allocations; None after the last.

        A window lasts from `start - before` to `start + after`; all moments are in seconds since the epoch.
        """
        store, mine = self._store, np.ones(self._store.flushed, np.bool_)
        mine[self._own] = False
        mine &= store.ends[: store.flushed] + before > start
        starts = np.concatenate([store.starts[: store.flushed][mine], self._added.starts])
        ends = np.concatenate([store.ends[: store.flushed][mine], self._added.ends])
        frees = -(-(ends + before) // grain) * grain
        comes = (starts - after) // grain * grain + grain
        moments = np.concatenate([frees, comes])
        moments = moments[(moments > start) & (moments < FOR_EVER)]
        return int(moments.min()) if moments.size else None

    def limits(self, demand: Mapping[str, int]) -> list[Limit]:
        """Return what bounds the number of slots of `demand`: each class that it needs, and exclusive allocations."""
        limits = [
            Limit(name, self._resources.room_for(name, amount), self._demands.amounts(name), min(amount, ALL_OF_IT))
            for name, amount in demand.items()
            if amount > 0
        ]
        return limits or [self._boundless(self._demands.amounts(""))]

    def whole(self) -> Limit:
        """Return what bounds whole resources: any allocation takes the resource."""
        return Limit(ANYTHING, np.ones(len(self._resources), np.int64), self._demands.amounts(ANYTHING), 1)

    def _boundless(self, amounts: Counts) -> Limit:
        return Limit("", np.full(len(self._resources), MOST_CAPACITY), amounts, 1)

    def idle(self, times: tuple[int, int]) -> Mask:
        """Return `free` for a window in seconds since the epoch."""
        return ~self._rows_of(self._touching(times))

    def room(self, times: tuple[int, int], limits: Sequence[Limit], among: Mask | None) -> Counts:
        """Return `slots` for a window in seconds since the epoch."""
        counts = np.zeros(len(self._resources), np.int64)
        chosen = slice(None) if among is None else np.flatnonzero(among)
        counts[chosen] = fitting(limits, chosen)
        if not self._are_few(counts > 0):
            counts[self._rows_of(self._touching(times), exclusive=True)] = 0
        # Sweep only the rows on which something may fit.
        for part in self.held(times, counts > 0).parts():
            rows, least = fewest(part, times, limits)
            counts[rows] = least
        return counts

    def outlook(self, limits: Sequence[Limit]) -> Outlook:
        """Return upper bounds of the slots in future windows, which are cheap to compute."""
        grid, outlines = self._outlines.look(limits, self._now)
        own = self._store.rows[self._own].astype(np.intp)
        return Outlook(grid, [(limit, outlines[limit.name]) for limit in limits], own)

    def idle_periods(self, times: tuple[int, int], rows: Mask, shortest: int) -> tuple[Seconds, Seconds]:
        """Return the begins and ends of the periods of at least `shortest` seconds without any allocation, by begin.

        They are those of the given rows in a window, and are cut to it; both are in seconds.
        """
        kept = self._outlines.idle(self._now)
        others = rows & self._differing(times)
        if not others.any():
            return kept.within(times, rows, shortest)
        own = IdlePeriods.of(others, self.held(times, others), times).within(times, others, shortest)
        both = zip(kept.within(times, rows & ~others, shortest), own, strict=True)
        begins, ends = (np.concatenate(pair) for pair in both)
        order = np.argsort(begins, kind="stable")
        return begins[order], ends[order]

    def _differing(self, times: tuple[int, int]) -> Mask:
        """Return the mask of the rows whose allocations in a window are not just those that are stored."""
        rows = np.zeros(len(self._resources), np.bool_)
        rows[self._store.rows[self._own]] = True
        rows[self._added.rows] = True
        if times[0] <= self._now:
            rows[self._store.rows[self._overdue]] = True
        return rows

    def held(self, times: tuple[int, int], rows: Mask) -> Held:
        """Return the allocations of the given rows that touch a window in seconds, by row and start."""
        touching, store = self._touching(times), self._store
        if self._are_few(rows):
            positions = store.positions(rows)
            positions = positions[touching.mask[positions]]
        else:
            positions = np.flatnonzero(touching.mask)
            positions = positions[rows[store.rows[positions]]]
        positions = store.in_order(positions)
        found = store.held(positions)
        if times[0] <= self._now:
            late = (found.ends <= self._now) & ~store.released[positions]
            found.ends[late] = self._now + 1
        return _joined(found, touching.added.part(rows[touching.added.rows]))

    def busy_until(self) -> int:
        """Return the moment, in seconds since the epoch, from which on there is no allocation."""
        ends = self._store.ends[: self._store.flushed]
        return max(self._now + 1, int(ends.max(initial=0)), int(self._added.ends.max(initial=0)))

    def _touching(self, times: tuple[int, int]) -> _Touching:
        if self._touched is None or self._touched.times != times:
            self._touched = self._find_touching(*times)
        return self._touched

    def _find_touching(self, start: int, end: int) -> _Touching:
        store = self._store
        mask = store.touching(start, end)
        if start <= self._now and self._overdue.size:
            late = self._overdue
            mask[late[(store.starts[late] < end) & (store.ends[late] <= start)]] = True
        mask[self._own] = False
        return self._with_added((start, end), mask)

    def _with_added(self, times: tuple[int, int], mask: Mask) -> _Touching:
        """Return what touches a window; `mask` says which allocations in the store do."""
        added, (start, end) = self._added, times
        return _Touching(times, mask, added.part((added.starts < end) & (added.ends > start)))

    def _rows_of(self, touching: _Touching, *, exclusive: bool | None = None) -> Mask:
        """Return the mask of the rows of all touching allocations, or only of those that are (not) exclusive."""
        chosen, added, count = touching.mask, touching.added, len(self._resources)
        if exclusive is not None:
            among = np.equal if exclusive else np.not_equal
            chosen = chosen & among(self._store.demands[: chosen.size], EXCLUSIVE)
            added = added.part(among(added.demands, EXCLUSIVE))
        rows = self._store.rows_of(chosen, count)
        rows[added.rows] = True
        return rows

    def _are_few(self, rows: Mask) -> bool:
        return bool(np.count_nonzero(rows) * _FEW < rows.size)

    def _but(
        self,
        *,
        own: Rows | None = None,
        added: Held | None = None,
        overdue: Rows | None = None,
        eligible: Eligible | None = None,
        weighers: Weighers | None = None,
    ) -> Snapshot:
        """Return the same pool but for this; `own` are the positions of the allocations that are left out."""
        known = self._overdue if overdue is None else overdue
        tables = (self._demands, self._store, self._outlines)
        other = Snapshot(
            *tables,
            self._now,
            eligible or self.eligible,
            overdue=known,
            weighers=weighers or self._weighers,
            added=self._added if added is None else added,
        )
        other._own = self._own if own is None else own
        if self._touched is not None and own is None and overdue is None:
            # Every reservation of a lease has the same window, so search all allocations only once.
            other._touched = other._with_added(self._touched.times, self._touched.mask)
        return other


def fitting(limits: Iterable[Limit], rows: Rows | slice = slice(None)) -> Counts:
    """Return how many slots fit on each resource, or on each of `rows`, while nothing is taken."""
    counts: Counts = np.minimum.reduce([limit.fitting(rows, 0) for limit in limits])
    return counts


def _joined(a: Held, b: Held) -> Held:
    """Return the allocations of both, in the order of (row, start)."""
    if not len(b):
        return a
    rows, starts = np.concatenate([a.rows, b.rows]), np.concatenate([a.starts, b.starts])
    order = np.argsort(row_start_keys(rows, starts), kind="stable")
    return Held(
        rows[order],
        starts[order],
        np.concatenate([a.ends, b.ends])[order],
        np.concatenate([a.slots, b.slots])[order],
        np.concatenate([a.demands, b.demands])[order],
    )
