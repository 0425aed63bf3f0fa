"""Place slots on hosts, for instance and flavor reservations (contract resources §3, §4). All functions are pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leasehold.calendar.search import SlotSpread, Sought, earliest_slots
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Search
    from leasehold.resource_types.layout import Groups, Layout

    Counts = NDArray[np.int64]
    Mask = NDArray[np.bool_]


def spread_of(affinity: bool | None) -> SlotSpread:  # noqa: FBT001 - a tri-state of the contract
    """Return the spread for an affinity: one host, different hosts, or any hosts."""
    return {True: SlotSpread.ONE_HOST, False: SlotSpread.DISTINCT_HOSTS, None: SlotSpread.ANY}[affinity]


@dataclass(frozen=True, slots=True)
class Way:
    """How slots of one `demand` may be put on hosts: by affinity, and by the groups of the hosts."""

    resource_type: str
    demand: Mapping[str, int]
    affinity: SlotSpread
    layout: Layout

    @property
    def spread(self) -> SlotSpread:
        """How they may be spread over hosts; slots in different groups are on different hosts."""
        return self.affinity if self.layout.apart is None else SlotSpread.DISTINCT_HOSTS

    def groups(self, search: Search[Any], mine: Counts) -> Groups | None:
        """Return the groups of the hosts; None without a layout."""
        if not self.layout:
            return None
        stays = (mine > 0) & search.firm
        stays[search.snapshot.rows(search.staying)] = True
        return self.layout.of(search, stays)


def allocate(way: Way, amount: int, search: Search[Any], matches: Mask) -> Sequence[Pick] | Refusal:
    """Return picks for `amount` slots, or the refusal; raises InUseError as `place` does."""
    picks = place(way, amount, search, matches)
    return explain(way, amount, search, matches) if picks is None else picks


def place(way: Way, amount: int, search: Search[Any], matches: Mask) -> Sequence[Pick] | None:
    """Return picks for `amount` slots, or None when they do not fit.

    Held hosts come first, then others in the order of the type's weigher. The default is hosts with other slots in this
    window, then empty ones, by number: packing keeps whole hosts free for host leases. With `firm` every held slot
    stays where it is; raises InUseError if that is impossible.
    """
    snapshot, window, spread = search.snapshot, search.padded, way.spread
    mine = _mine(search)
    groups = way.groups(search, mine)
    held = np.flatnonzero(mine)
    bookable = snapshot.eligible.bookable()
    staying = np.zeros(len(mine), dtype=np.bool_)
    staying[snapshot.rows(search.staying)] = True
    held_first, fresh = _order((matches & (bookable | (mine > 0))) | staying, mine, snapshot.carrying(window))
    order = np.concatenate([held_first, snapshot.ordered(fresh, window, way.resource_type)])

    def usable(counts: Counts) -> Counts:
        room = _open(counts, mine, bookable, spread, search)
        if spread is SlotSpread.DISTINCT_HOSTS:
            room = np.minimum(room, 1)
        if spread is SlotSpread.ONE_HOST:
            room = np.where(room >= amount, amount, 0)
        return room if groups is None else groups.narrowed(room, order, mine, amount)

    def kept(counts: Counts) -> Counts:
        return np.where(staying, mine, counts)

    def enough(counts: Counts) -> bool:
        return bool((counts[held] > 0).all() and usable(kept(counts)).sum() >= amount)

    counts = kept(snapshot.slots_until(window, way.demand, order, enough))
    if search.firm and bool((counts < mine).any()):
        message = "A host in use cannot hold its instances throughout the new window. Ask for an earlier end."
        raise InUseError(message, field="end_date")
    room = usable(counts)
    order = order[room[order] > 0]
    if spread is SlotSpread.ONE_HOST and not search.firm:
        # An amendment may require one host for slots that are on several now.
        order = order[:1]
    return _fill(snapshot.numbers, order, room, mine if search.firm else np.minimum(mine, room), amount, way.demand)


def _mine(search: Search[Any]) -> Counts:
    """Return the number of held slots on each host."""
    mine = np.zeros(len(search.snapshot.numbers), dtype=np.int64)
    held = search.snapshot.rows(pick.resource_number for pick in search.held)
    np.add.at(mine, held, [pick.slots for pick in search.held])
    return mine


def _open(counts: Counts, mine: Counts, bookable: Mask, spread: SlotSpread, search: Search[Any]) -> Counts:
    """Return the number of slots on each host that this reservation may use.

    A held host that is not bookable, e.g. a failed one, keeps its slots but gets no more. ONE_HOST slots in use stay.
    """
    room: Counts = np.where(bookable, counts, np.minimum(counts, mine))
    return np.where(_reachable(mine, spread, search), room, 0)


def _reachable(mine: Counts, spread: SlotSpread, search: Search[Any]) -> Mask:
    """Return the hosts that may get slots at all: with ONE_HOST slots in use, only their host."""
    stays = spread is SlotSpread.ONE_HOST and search.firm and bool(mine.any())
    return mine > 0 if stays else np.ones(len(mine), dtype=np.bool_)


def _order(candidates: Mask, mine: Counts, carrying: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of the candidates in the default order of filling: those that hold slots, and all others."""
    held = np.flatnonzero(candidates & (mine > 0))
    held = held[np.lexsort((held, ~carrying[held], -mine[held]))]
    fresh = candidates & (mine == 0)
    return held, np.concatenate([np.flatnonzero(fresh & carrying), np.flatnonzero(fresh & ~carrying)])


def _fill(
    numbers: NDArray[np.int64],
    order: NDArray[np.intp],
    usable: Counts,
    first: Counts,
    amount: int,
    demand: Mapping[str, int],
) -> Sequence[Pick] | None:
    """Fill the hosts in order, the slots in `first` before any others; None if less than `amount` fits."""
    kept = _share(order, first, amount)
    added = _share(order, usable[order] - kept, amount - int(kept.sum()), values=True)
    total = kept + added
    if int(total.sum()) < amount:
        return None
    return [Pick(int(numbers[row]), int(slots), dict(demand)) for row, slots in zip(order, total, strict=True) if slots]


def _share(order: NDArray[np.intp], supply: Counts, amount: int, *, values: bool = False) -> Counts:
    """Return how much of `amount` each host of `order` takes, filling them in order."""
    offered = np.minimum(supply if values else supply[order], amount)
    before = np.cumsum(offered) - offered
    share: Counts = np.clip(amount - before, 0, offered)
    return share


def explain(way: Way, amount: int, search: Search[Any], matches: Mask) -> Refusal:
    """Return the refusal: why the slots do not fit, the largest amount that fits, and the nearest window for all."""
    if search.explain is Explain.NOTHING:
        return Refusal(way.resource_type, "instances", amount, 0, search.window)
    snapshot, spread = search.snapshot, way.spread
    bookable, mine = snapshot.eligible.bookable(), _mine(search)
    healthy = matches & bookable
    counts = snapshot.slots(search.padded, way.demand, matches & (bookable | (mine > 0)))
    counts = _open(counts, mine, bookable, spread, search)
    able = (healthy | (matches & (mine > 0))) & _reachable(mine, spread, search)
    return Refusal(
        resource_type=way.resource_type,
        noun="instances",
        asked=amount,
        largest=_largest(counts, spread, way.groups(search, mine), mine),
        window=search.window,
        nearest=_nearest(way, amount, search, able),
        steps=(
            FilterCount("hosts enrolled", int(snapshot.eligible.enrolled().sum())),
            FilterCount("matching", int(matches.sum())),
            FilterCount("healthy", int(healthy.sum())),
            FilterCount("with room in the window", int((healthy & (counts > 0)).sum())),
        ),
    )


def _largest(counts: Counts, spread: SlotSpread, groups: Groups | None, mine: Counts) -> int:
    """Return the largest amount that fits, by the slots on each host."""
    if spread is SlotSpread.ONE_HOST:
        return int(counts.max(initial=0))
    room = np.minimum(counts, 1 if spread is SlotSpread.DISTINCT_HOSTS else 2**31 - 1)
    if groups is not None:
        room = groups.narrowed(room, np.flatnonzero(room), mine, int(room.sum()))
    return int(room.sum())


def _nearest(way: Way, amount: int, search: Search[Any], able: Mask) -> Window | None:
    if search.explain < Explain.WINDOW:
        return None
    snapshot, demand = search.snapshot, way.demand

    def first(rows: Mask, after: datetime) -> Window | None:
        sought = Sought(after, search.length, search.margin, search.check)
        return earliest_slots(snapshot, rows, demand, amount, way.spread, sought)

    groups = way.groups(search, np.zeros(len(able), np.int64))
    if groups is None:
        return first(able, search.window.start)
    return groups.earliest(search, able, amount, first, lambda window: snapshot.slots(window, demand, able))
