"""The calendar alone: decisions, earliest slots, memory, and how they grow with allocations and with hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bench import calendar
from bench.row import Point, Row
from leasehold.cmd.memory import keep_freed_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.calendar import Requests, Result
    from leasehold.calendar.snapshot import Snapshot

BETWEEN: Final = (20_000, 60_000, 600_000)
"""Allocations on 10,000 hosts, beside the sizes that have a budget."""
HOSTS: Final = (100, 300, 1_000, 3_000)
PER_HOST: Final = 20
PLOTS: Final = frozenset({"decision", "earliest"})
DECISIONS: Final = 300
SEARCHES: Final = 120
ACTIONS: Final[dict[str, tuple[Callable[[Snapshot, Requests], None], int]]] = {
    "decision, hosts": (calendar.decide_hosts, DECISIONS),
    "decision, instances": (calendar.decide_instances, DECISIONS),
    "earliest, hosts": (calendar.find_hosts, SEARCHES),
    "earliest, instances": (calendar.find_instances, SEARCHES),
}


def run(*, quick: bool = False) -> list[Row]:
    """Measure 10,000 hosts with 200,000 and 1,000,000 allocations, and sizes between; quick: the smaller size alone."""
    if quick:
        return [_row(each) for each in calendar.timings(calendar.SIZES[0], 100, 40)]
    keep_freed_memory()
    rows = [_row(each) for size in calendar.SIZES for each in calendar.timings(size)]
    rows += [_row(each) for size in (BETWEEN[0], *calendar.SIZES) for each in calendar.memory(size)]
    rows += [row for size in BETWEEN for row in _curve(size, calendar.HOSTS, "allocations", size)]
    rows += [row for count in HOSTS for row in _curve(PER_HOST * count, count, "hosts", count)]
    rows += [
        _on_hosts(row, row.point)
        for row in rows
        if row.point and row.point.plot in PLOTS and row.point.x == PER_HOST * calendar.HOSTS
    ]
    return _compared(rows)


def _compared(rows: list[Row]) -> list[Row]:
    """Return the rows; each point on a line compares with the line's first point."""
    first: dict[tuple[str, str], Row] = {}
    for row in sorted((row for row in rows if row.point), key=lambda row: row.point.x if row.point else 0):
        if row.point:
            first.setdefault((row.point.plot, row.point.line), row)
    return [row if row.point is None else _beside(row, first[row.point.plot, row.point.line]) for row in rows]


def _beside(row: Row, first: Row) -> Row:
    if row is first or first.point is None:
        return row
    axis = "hosts'" if first.point.plot.endswith("-hosts") else "allocations'"
    return replace(row, baseline=first.measured, against=f"{first.point.x:,.0f} {axis}")


def _row(result: Result) -> Row:
    name = f"calendar, {result.allocations:,} allocations: {result.name}, {result.figure}"
    plot, _, line = result.name.partition(", ")
    point = None
    if result.name in ACTIONS and result.figure in {"p50", "p99"}:
        point = Point(plot, f"{line}, {result.figure}", result.allocations)
    elif result.name == "memory" and result.figure == "resident":
        point = Point("memory", "process with a calendar", result.allocations)
    return Row(name, result.value, result.unit, result.budget, point=point)


def _curve(allocations: int, hosts: int, axis: str, x: float) -> Iterator[Row]:
    loaded = calendar.loaded(allocations, hosts)
    for name, (action, times) in ACTIONS.items():
        clock = calendar.measure(loaded, action, times, calendar.Requests(allocations, hosts))
        plot, _, line = name.partition(", ")
        for result in clock.results(name, allocations):
            if result.figure in {"p50", "p99"}:
                point = Point(plot if axis == "allocations" else f"{plot}-{axis}", f"{line}, {result.figure}", x)
                title = f"calendar, {hosts:,} hosts, {allocations:,} allocations: {name}, {result.figure}"
                yield Row(title, result.value, result.unit, point=point)


def _on_hosts(row: Row, point: Point) -> Row:
    """Return the row of 10,000 hosts with 20 allocations each again, as the last point of a line over hosts."""
    name = row.name.replace("calendar, ", f"calendar, {calendar.HOSTS:,} hosts, ")
    place = Point(f"{point.plot}-hosts", point.line, calendar.HOSTS)
    return Row(name, row.measured, row.unit, point=place)
