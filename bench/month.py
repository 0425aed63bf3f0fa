"""A simulated month of a cloud with 144 hosts: which leases started late, what waited, and how the hosts were used.

The API, the manager and the sandbox are the real ones, with a clock that is set; see `bench/simulation`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.row import Course, Row
from bench.simulation.hosts import TROUBLES
from bench.simulation.lateness import FAILED_TRY, GAVE_UP, GRANTED_AFTER_WAITING, STARTED
from bench.simulation.people import GRANTED, KEPT, REFUSED
from bench.simulation.plan import WAYS
from bench.simulation.simulation import simulate
from bench.simulation.site import SETTINGS
from bench.simulation.sleeping import sleeping
from bench.simulation.source import DAYS, month
from bench.simulation.utilisation import ASLEEP, FREE, SAMPLES, STATES, WAITING
from leasehold.model.event_log import LeaseNews, ResourceNews, ServerNews

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.simulation.simulation import Report

SEED: Final = 20_261_123
SPARES: Final = 8
"""Idle hosts that stay on when hosts sleep."""
OFF: Final = 75.0
"""In percent of what stays idle: so many host hours have to be off at least."""
NEWS: Final = (
    ResourceNews.DRAWN,
    ResourceNews.GIVEN_BACK,
    ResourceNews.DRAW_FAILED,
    LeaseNews.NO_SHOW_WARNED,
    LeaseNews.NO_SHOW_RELEASED,
)
"""The events that are counted."""


def run(*, quick: bool = False) -> list[Row]:
    """Simulate the month, without and with hosts that sleep; quick: its first day. Prints what should not have been."""
    source, rows = month(), list[Row]()
    for name, settings in (("month", SETTINGS), ("month-asleep", sleeping(SPARES))):
        report = simulate(source, SEED, timedelta(days=1 if quick else DAYS), settings=settings)
        print(f"{name}: {source.name}; seed {SEED}", *report.problems[:20], sep="\n")
        rows += rows_of(report, name)
    return rows


def rows_of(report: Report, name: str = "month") -> Iterator[Row]:
    """Yield the figures of a simulation; leases that start late, and findings of an audit, have a budget of none."""
    for row in _rows(report, name):
        yield replace(row, name=row.name.replace("month", name, 1))


def _rows(report: Report, plot: str) -> Iterator[Row]:
    yield Row("month: leases that started", sum(_counted(report, STARTED).values()), "")
    yield Row("month: leases that started late", len(report.watch.late), "", 0, exact=True)
    findings = len(report.findings)
    yield Row(f"month: findings of {report.audits} hourly audits", findings, "", 0, exact=True)
    yield from _by_way(report)
    if report.watch.waited:
        hours = [each / timedelta(hours=1) for each in report.watch.waited]
        yield Row("month: wait of those granted after waiting, median", median(hours), "h")
        yield Row("month: wait of those granted after waiting, longest", max(hours), "h")
    for trouble in TROUBLES:
        yield Row(f"month: {trouble}", report.hosts.happened[trouble], "")
    yield Row("month: preemptible servers told of their end", report.news[ServerNews.ENDS], "")
    for news in NEWS:
        yield Row(f"month: events {news}", report.news[news], "")
    for state in (*STATES, WAITING):
        share = report.utilisation.mean(state)
        unit = "%" if state in STATES else "at a time"
        measured = 100 * share if state in STATES else share * len(report.utilisation.site.hosts)
        course = Course(plot, state, tuple(report.utilisation.hourly(state)))
        what = f"hosts {state}" if state in STATES else state
        yield Row(f"month: {what}, on average", measured, unit, course=course)
    yield from _saved(report)
    yield Row("month: simulated in", report.seconds, "s of processor time")


def _saved(report: Report) -> Iterator[Row]:
    """Yield what sleeping hosts have saved, if any slept."""
    saved = [each for _, each in report.saved]
    if not saved:
        return
    seen, site = report.utilisation, report.utilisation.site
    idle = (seen.mean(ASLEEP) + seen.mean(FREE)) * len(site.hosts) * len(seen.samples) / SAMPLES
    off = sum(each.hours_off for each in saved)
    yield Row("month: host hours off", off, "h")
    yield Row("month: of the host hours that stay idle, those that are on", 100 * (1 - off / idle), "%", 100 - OFF)
    yield Row("month: energy saved", sum(each.kwh or 0 for each in saved), "kWh")
    days = len(seen.samples) / SAMPLES / 24
    yield Row("month: wakes of each host and day", sum(each.wakes for each in saved) / len(site.hosts) / days, "")
    for what in ("failed_wakes", "called_off", "late_starts"):
        budget = 0 if what == "late_starts" else None
        count = sum(getattr(each, what) for each in saved)
        yield Row(f"month: {what.replace('_', ' ')} of sleeping hosts", count, "", budget, exact=budget is not None)


def _by_way(report: Report) -> Iterator[Row]:
    counts = report.people.answers + report.watch.counts
    for way in WAYS:
        for what in (GRANTED, REFUSED, KEPT, GRANTED_AFTER_WAITING, GAVE_UP, FAILED_TRY):
            if counts[way, what]:
                yield Row(f"month, {way}: {what}", counts[way, what], "")


def _counted(report: Report, what: str) -> dict[str, int]:
    return {way: count for (way, name), count in report.watch.counts.items() if name == what}
