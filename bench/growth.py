"""Which figures grew by half since the last page: a page with one of these is written only when somebody accepts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.row import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.row import Row

MOST: Final = 1.5
CALIBRATION: Final = (
    "trivial authenticated request, MariaDB, p50",
    "durable commit of a lease's rows by the bare driver, MariaDB, p50",
)
"""What does not depend on our decisions: how fast the processor is, and the disk."""
TIMES: Final = ("ms", "s")
RATES: Final = ("/s",)
AMOUNTS: Final = ("MiB", "million")
"""Units of what is the same on a slower machine: memory, and instructions of the processor."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A row that grew, what it was, and how many times as much it costs as then on a machine of the same speed."""

    row: Row
    before: float
    times: float

    def __str__(self) -> str:
        """Return the row as a line of text."""
        was = f"{number(self.row.measured)} {self.row.unit}, was {number(self.before)}"
        return f"{self.row.name}: {was}, {self.times:.2f} times as much at the same speed"


def grown(rows: Sequence[Row], last: Iterable[Row]) -> list[Growth]:
    """Return the rows that cost half as much again as on the last page, or more; new rows are none of them.

    Times, and rates, are compared at the speed of the machine, which is that of the slower one of `CALIBRATION`.
    """
    before = {row.name: row.measured for row in last}
    slower = _slower(rows, before)
    found = ((row, before.get(row.name)) for row in rows)
    changed = [Growth(row, old, _times(row, old, slower)) for row, old in found if old and row.measured]
    return [each for each in changed if each.times >= MOST]


def _slower(rows: Iterable[Row], before: Mapping[str, float]) -> float:
    """Return how many times as long the same takes as in the last run; 1 without calibration."""
    ratios = [row.measured / before[row.name] for row in rows if row.name in CALIBRATION and before.get(row.name)]
    return max(ratios, default=1.0)


def _times(row: Row, before: float, slower: float) -> float:
    """Return how many times as much a row costs; 1 for what is no cost, such as a number of requests."""
    if row.exact or row.name in CALIBRATION:
        return 1.0
    if row.unit in TIMES:
        return row.measured / before / slower
    if row.unit in RATES:
        return before / row.measured / slower
    return row.measured / before if row.unit in AMOUNTS or row.budget is not None else 1.0
