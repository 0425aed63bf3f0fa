"""Place slots on hosts, for instance and flavor reservations (contract resources §3, §4). All functions are pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leasehold.calendar.search import Spread, earliest_slots
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Search

    Counts = NDArray[np.int64]
    Mask = NDArray[np.bool_]


def spread_of(affinity: bool | None) -> Spread:  # noqa: FBT001 - a tri-state of the contract
    """Return the spread for an affinity: one host, different hosts, or any hosts."""
    return {True: Spread.ONE_HOST, False: Spread.DISTINCT_HOSTS, None: Spread.ANY}[affinity]


def place(
    demand: Mapping[str, int], amount: int, spread: Spread, search: Search[Any], matches: Mask
) -> Sequence[Pick] | None:
    """Return picks for `amount` slots, or None when they do not fit.

    Held hosts come first, then hosts with other slots in this window, then empty ones, by number: packing keeps whole
    hosts free for host leases. With `firm` every held slot stays where it is; raises InUseError if that is impossible.
    """
    snapshot, window = search.snapshot, search.padded
    mine = _mine(search)
    held = np.flatnonzero(mine)
    bookable = snapshot.bookable()
    staying = np.zeros(len(mine), dtype=np.bool_)
    staying[snapshot.rows(search.staying)] = True
    order = _order((matches & (bookable | (mine > 0))) | staying, mine, snapshot.carrying(window))

    def usable(counts: Counts) -> Counts:
        room = _open(counts, mine, bookable, spread, search)
        if spread is Spread.DISTINCT_HOSTS:
            return np.minimum(room, 1)
        if spread is Spread.ONE_HOST:
            return np.where(room >= amount, amount, 0)
        return room

    def kept(counts: Counts) -> Counts:
        return np.where(staying, mine, counts)

    def enough(counts: Counts) -> bool:
        return bool((counts[held] > 0).all() and usable(kept(counts)).sum() >= amount)

    counts = kept(snapshot.slots_until(window, demand, order, enough))
    if search.firm and bool((counts < mine).any()):
        message = "A host in use cannot hold its instances throughout the new window. Ask for an earlier end."
        raise InUseError(message, field="end_date")
    room = usable(counts)
    order = order[room[order] > 0]
    if spread is Spread.ONE_HOST and not search.firm:
        # An amendment may require one host for slots that are on several now.
        order = order[:1]
    return _fill(snapshot.numbers, order, room, mine if search.firm else np.minimum(mine, room), amount, demand)


def _mine(search: Search[Any]) -> Counts:
    """Return the number of held slots on each host."""
    mine = np.zeros(len(search.snapshot.numbers), dtype=np.int64)
    held = search.snapshot.rows(pick.resource_number for pick in search.held)
    np.add.at(mine, held, [pick.slots for pick in search.held])
    return mine


def _open(counts: Counts, mine: Counts, bookable: Mask, spread: Spread, search: Search[Any]) -> Counts:
    """Return the number of slots on each host that this reservation may use.

    A held host that is not bookable, e.g. a failed one, keeps its slots but gets no more. ONE_HOST slots in use stay.
    """
    room: Counts = np.where(bookable, counts, np.minimum(counts, mine))
    return np.where(_reachable(mine, spread, search), room, 0)


def _reachable(mine: Counts, spread: Spread, search: Search[Any]) -> Mask:
    """Return the hosts that may get slots at all: with ONE_HOST slots in use, only their host."""
    stays = spread is Spread.ONE_HOST and search.firm and bool(mine.any())
    return mine > 0 if stays else np.ones(len(mine), dtype=np.bool_)


def _order(candidates: Mask, mine: Counts, carrying: Mask) -> NDArray[np.intp]:
    """Return the rows of the candidates in the order of filling."""
    held = np.flatnonzero(candidates & (mine > 0))
    held = held[np.lexsort((held, ~carrying[held], -mine[held]))]
    fresh = candidates & (mine == 0)
    return np.concatenate([held, np.flatnonzero(fresh & carrying), np.flatnonzero(fresh & ~carrying)])


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


def explain(
    resource_type: str, demand: Mapping[str, int], amount: int, spread: Spread, search: Search[Any], matches: Mask
) -> Refusal:
    """Return the refusal: why the slots do not fit, the largest amount that fits, and the nearest window for all."""
    if search.explain is Explain.NOTHING:
        return Refusal(resource_type, "instances", amount, 0, search.window)
    snapshot = search.snapshot
    bookable, mine = snapshot.bookable(), _mine(search)
    healthy = matches & bookable
    counts = snapshot.slots(search.padded, demand, matches & (bookable | (mine > 0)))
    counts = _open(counts, mine, bookable, spread, search)
    largest = {
        Spread.ANY: lambda: int(np.minimum(counts, 2**31 - 1).sum()),
        Spread.ONE_HOST: lambda: int(counts.max(initial=0)),
        Spread.DISTINCT_HOSTS: lambda: int((counts > 0).sum()),
    }[spread]()
    able = (healthy | (matches & (mine > 0))) & _reachable(mine, spread, search)
    return Refusal(
        resource_type=resource_type,
        noun="instances",
        asked=amount,
        largest=largest,
        window=search.window,
        nearest=_nearest(demand, amount, spread, search, able),
        steps=(
            FilterCount("hosts enrolled", int(snapshot.enrolled().sum())),
            FilterCount("matching", int(matches.sum())),
            FilterCount("healthy", int(healthy.sum())),
            FilterCount("with room in the window", int((healthy & (counts > 0)).sum())),
        ),
    )


def _nearest(demand: Mapping[str, int], amount: int, spread: Spread, search: Search[Any], able: Mask) -> Window | None:
    if search.explain < Explain.WINDOW:
        return None
    start, length = search.window.start, search.length
    return earliest_slots(
        search.snapshot, able, demand, amount, spread, start, length, margin=search.margin, check=search.check
    )
