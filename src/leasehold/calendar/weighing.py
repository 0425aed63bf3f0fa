"""Which of the resources that would do are taken first: a policy, which an operator chooses by name (feature C8).

A weigher never decides whether a request is granted: it orders resources that would all do.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from leasehold.calendar.arrays import FOR_EVER
from leasehold.calendar.demands import EXCLUSIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Counts, Mask, Rows
    from leasehold.calendar.sweep import Held

log = logging.getLogger(__name__)

AROUND: Final = 30 * 24 * 3600
"""How many seconds before and after a window `Candidates.idle` looks."""
PAST: Final = 24 * 3600
"""How many seconds of what is over a calendar knows for certain (`calendar.index.HISTORY`)."""
_GOLDEN: Final = 0x9E3779B97F4A7C15
"""The increment of SplitMix64."""
_TWO: Final = 2
"""From so many resources on there is an order."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Resources that would all do, in the order in which they are taken by default. Arrays have shape (n,).

    `numbers` are their numbers. `window` is the half-open window for which they are wanted, cleaning time included, and
    `now` the moment of the decision, in seconds since the epoch.
    """

    numbers: NDArray[np.int64]
    window: tuple[int, int]
    now: int
    _rows: Rows
    _books: Books

    def reserved(self, start: int, end: int) -> NDArray[np.float64]:
        """Return how many seconds between two moments each is reserved; slots count by their share of the resource.

        What was over a day ago may be missing.
        """
        held = self._held(start, end)
        begins, ends = held.within((start, end))
        seconds = np.bincount(held.rows, self._books.shares(held) * (ends - begins), self._books.size)
        return np.asarray(seconds[self._rows], np.float64)

    def idle(self) -> Counts:
        """Return the seconds without any allocation just before and just after the window, together.

        0 where there is an allocation in the window; at most AROUND on each side, and nothing before `now`.
        """
        start, end = self.window
        first, last = min(start, max(self.now, start - AROUND)), end + AROUND
        held, size = self._held(first, last), self._books.size
        left, right = np.full(size, first), np.full(size, last)
        before, after = held.ends <= start, held.starts >= end
        np.maximum.at(left, held.rows[before], held.ends[before])
        np.minimum.at(right, held.rows[after], held.starts[after])
        seconds = (start - left) + (right - end)
        seconds[held.rows[~before & ~after]] = 0
        return np.asarray(seconds[self._rows], np.int64)

    def _held(self, start: int, end: int) -> Held:
        chosen = np.zeros(self._books.size, np.bool_)
        chosen[self._rows] = True
        return self._books.held((start, end), chosen)


@dataclass(frozen=True, slots=True)
class Books:
    """What a weigher may know of a pool of `size` resources, through `Candidates`.

    `held` returns the allocations that touch a window on some rows (`Snapshot.held`), `capacities` the capacity of each
    row by resource class, and `amounts` what one slot of each demand code takes of a class.
    """

    size: int
    held: Callable[[tuple[int, int], Mask], Held]
    capacities: Callable[[], Mapping[str, Counts]]
    amounts: Callable[[str], Counts]

    def shares(self, held: Held) -> NDArray[np.float64]:
        """Return which share of its resource each allocation takes, 0 to 1: the largest of all classes."""
        shares = np.where(held.demands == EXCLUSIVE, 1.0, 0.0)
        for name, capacity in self.capacities().items():
            taken, there = held.taken(self.amounts(name)), capacity[held.rows]
            np.maximum(shares, np.minimum(taken / np.maximum(there, 1), 1.0), out=shares)
        return shares


class Weigher(Protocol):
    """Says which resources are taken first. Pure: it is asked within decisions, under the pools' locks.

    The same candidates always get the same weights: a decision may be made twice, and must come out the same.
    """

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return a weight for each candidate, shape (n,): the largest is taken first, and equal ones as by default."""
        ...


class FirstFit:
    """By number; slots go first to hosts that have other slots in the same window (decision 0007)."""

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return equal weights."""
        return np.zeros(candidates.numbers.size)


class Pack:
    """The resource comes first that is idle for the shortest time around the window, then the fullest one.

    What stays idle is idle for long, so that long leases fit.
    """

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return the idle seconds, less a share of one for what is taken in the window, as a negative number."""
        taken = candidates.reserved(*candidates.window)
        return taken / (1.0 + taken) - candidates.idle()


class Spread:
    """The opposite of `Pack`: the resource comes first that is idle for the longest time, then the emptiest one."""

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return the weights of `Pack` with the other sign."""
        return -Pack().weights(candidates)


class LeastUsed:
    """The resource comes first that is reserved for the fewest seconds, from a day ago on and as far as is promised."""

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return the reserved seconds, as a negative number."""
        return -candidates.reserved(candidates.now - PAST, FOR_EVER)


class Random:
    """In an order without a rule, which is the same for all windows that end at the same moment."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return 53 bits of a hash of the seed, the end of the window and the number (SplitMix64)."""
        origin = np.array([(self._seed * _GOLDEN + candidates.window[1]) % 2**64], np.uint64)
        mixed = _mixed(_mixed(origin) + candidates.numbers.astype(np.uint64))
        return np.asarray((mixed >> np.uint64(11)).astype(np.float64))


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = values + np.uint64(_GOLDEN)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Weighers:
    """The weigher of each resource type: its own one, or the one for all."""

    general: Weigher = field(default_factory=FirstFit)
    by_type: Mapping[str, Weigher] = field(default_factory=dict)

    def of(self, resource_type: str) -> Weigher:
        """Return the weigher of a type."""
        return self.by_type.get(resource_type, self.general)


FIRST_FIT: Final = Weighers()


def by_weight(weigher: Weigher, candidates: Callable[[], Candidates], rows: Rows) -> Rows:
    """Return the candidates' rows, the largest weight first; a bug of a plugin is logged, and they stay as they are."""
    if isinstance(weigher, FirstFit) or rows.size < _TWO:
        return rows
    try:
        weights = np.asarray(weigher.weights(candidates()), np.float64)
        if weights.shape != rows.shape or np.isnan(weights).any():
            message = "It has to return one number for each candidate."
            raise ValueError(message)  # noqa: TRY301 - logged below like what a plugin raises itself
    except Exception:
        log.exception("A bug in the weigher %s: resources are taken first fit", type(weigher).__name__)
        return rows
    return rows[np.argsort(-weights, kind="stable")]
