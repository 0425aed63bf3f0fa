"""Cut a lease into the fewest pieces that fit, each of some length at least.

All that is free is known as gaps: the longest windows in which a lease fits, in order, none within another. In the
first part times are whole minutes and nothing is known of leases.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from leasehold.features.flexible.model import MOST_PIECES, Strategy
from leasehold.leasing.deciding.free_windows import MINUTE
from leasehold.model.errors import TakesTooLongError
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from leasehold.features.flexible.place import Places

MOST_GAPS: Final = 100
"""How many gaps are looked at, the soonest ones."""
Span = tuple[int, int]
"""From one minute to another."""


@dataclass(frozen=True, slots=True)
class _Last:
    """The last piece: where it begins and in which gap, how much the pieces before it have, and the one before it."""

    start: int
    gap: int
    had: int = 0
    before: _Last | None = None


def fewest(gaps: Sequence[Span], whole: int, least: int, apart: int = 0, most: int = MOST_PIECES) -> list[Span]:
    """Return the fewest pieces, of at least `least` and `whole` in sum, and of as many those that end first.

    They are in different gaps and `apart` from each other. Empty if there are none, or more than `most`.
    """
    level = [_Last(start, number) for number, (start, end) in enumerate(gaps) if start + least <= end]
    for _ in range(min(most, whole // least)):
        ends = [(each.start + max(least, whole - each.had), each) for each in level]
        fit = [found for found in ends if found[0] <= gaps[found[1].gap][1]]
        if fit:
            return _exactly(_spans(gaps, *min(fit, key=itemgetter(0)), apart), whole, least)
        level = _best(after for each in level for after in _after(gaps, each, least, apart))
    return []


def _after(gaps: Sequence[Span], last: _Last, least: int, apart: int) -> Iterator[_Last]:
    """Yield the next piece in each later gap: it begins as soon as it can, and the last one lasts until then."""
    until = gaps[last.gap][1]
    for number in range(last.gap + 1, len(gaps)):
        start = max(gaps[number][0], last.start + least + apart)
        if start + least <= gaps[number][1]:
            yield _Last(start, number, last.had + min(until, start - apart) - last.start, last)


def _best(found: Iterable[_Last]) -> list[_Last]:
    """Return the pieces without those that begin later than another one of their gap, and gain nothing by that."""
    kept, most = [], dict[int, int]()
    for each in sorted(found, key=lambda each: (each.start, -each.had)):
        lead = each.had - each.start
        if lead > most.get(each.gap, lead - 1):
            most[each.gap] = lead
            kept.append(each)
    return kept


def _spans(gaps: Sequence[Span], end: int, last: _Last | None, apart: int) -> list[Span]:
    found: list[Span] = []
    while last is not None:
        found.insert(0, (last.start, end))
        end = last.start - apart if last.before is None else min(gaps[last.before.gap][1], last.start - apart)
        last = last.before
    return found


def _exactly(spans: list[Span], whole: int, least: int) -> list[Span]:
    """Return pieces of which those before the last one are shortened until the sum is right."""
    excess = sum(end - start for start, end in spans) - whole
    for number, (start, end) in reversed(list(enumerate(spans[:-1]))):
        less = min(excess, end - start - least)
        spans[number], excess = (start, end - less), excess - less
    return spans


def _ways(gaps: Sequence[Span], whole: int, least: int, apart: int, strategy: Strategy) -> Iterator[list[Span]]:
    """Yield pieces to compare: the first, and for sleep those in later gaps, and those that end with their gaps."""
    first = fewest(gaps, whole, least, apart)
    yield first
    for number in range(len(gaps) if first and strategy is Strategy.SLEEP else 0):
        yield fewest(gaps[number + 1 :], whole, least, apart, len(first))
        mirrored = [(-end, -start) for start, end in reversed(gaps[: len(gaps) - number])]
        yield [(-end, -start) for start, end in reversed(fewest(mirrored, whole, least, apart, len(first)))]


# ---------------------------------------------------------------- leases


def cut(
    places: Callable[[], Places], whole: timedelta, strategy: Strategy, now: datetime
) -> tuple[Sequence[Window], timedelta]:
    """Return the best pieces, each at least as long as the lease of these places, and how much time is free for such.

    They are none if they do not fit. If there is no time to look at all, they are the best of those that were seen;
    raises TakesTooLongError if there was none. The time of a decision begins with each call of `places`.
    """
    gaps = _gaps(places)
    present = places()
    terms, asked = present.windows.terms, present.windows.asked
    sizes = int(whole.total_seconds()) // MINUTE, int(terms.length.total_seconds()) // MINUTE
    cleaning = (terms.margins.of(part.kind.pool) + part.ending.tail for part in asked)
    between = terms.lead.time + max(cleaning, default=timedelta())
    best: tuple[int, int, list[Window]] | None = None
    try:
        # Side by side, unless what they have has to be cleaned between them.
        for apart in (0, -(-int(between.total_seconds()) // MINUTE)):
            for way in _ways(gaps, *sizes, apart, strategy) if best is None else ():
                terms.budget.check()
                windows = [Window.of_seconds(start * MINUTE, end * MINUTE) for start, end in way]
                cost = present.together(strategy, windows, now) if way else None
                if cost is not None:
                    best = min(best or (len(way), cost, windows), (len(way), cost, windows))
    except TakesTooLongError:
        if best is None:
            raise
    free = sum(end - max(start, before) for (_, before), (start, end) in pairwise([(0, 0), *gaps]))
    return ([] if best is None else best[-1]), timedelta(minutes=free)


def _gaps(places: Callable[[], Places]) -> list[Span]:
    """Return all gaps; of more than `MOST_GAPS` only those that reach noticeably further than one before."""
    stretches = places().stretches
    coarse = int((stretches[-1].end - stretches[0].start).total_seconds()) // MOST_GAPS
    found: list[Span] = []
    for step in (MINUTE, -(-coarse // MINUTE) * MINUTE):
        found = []
        try:
            for start, end in (gap.seconds for gap in islice(places().gaps(step), MOST_GAPS + 1)):
                found.append((start // MINUTE, end // MINUTE))
        except TakesTooLongError:
            if not found:
                raise
        else:
            if len(found) <= MOST_GAPS:
                break
    return found
