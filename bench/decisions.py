"""The calendar alone: decisions, earliest slots, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import calendar
from bench.row import Row

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(*, quick: bool = False) -> list[Row]:
    """Measure 10,000 hosts with 200,000 and 1,000,000 allocations; quick: the smaller size, fewer times."""
    results: Sequence[calendar.Result]
    results = list(calendar.timings(calendar.SIZES[0], 100, 40)) if quick else calendar.run()
    return [
        Row(
            f"calendar, {each.allocations:,} allocations: {each.name}, {each.figure}",
            each.value,
            each.unit,
            each.budget,
        )
        for each in results
    ]
