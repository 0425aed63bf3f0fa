"""A simulated month of a cloud with 144 hosts: which leases started late, what waited, and how the hosts were used.

The API, the manager and the sandbox are the real ones, with a clock that is set; see `bench/simulation`.
"""

from __future__ import annotations

from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.row import Course, Row
from bench.simulation.hosts import TROUBLES
from bench.simulation.lateness import FAILED_TRY, GAVE_UP, GRANTED_AFTER_WAITING, STARTED
from bench.simulation.people import GRANTED, KEPT, REFUSED
from bench.simulation.plan import WAYS
from bench.simulation.simulation import simulate
from bench.simulation.source import DAYS, month
from bench.simulation.utilisation import STATES, WAITING
from leasehold.model.event_log import LeaseNews, ResourceNews, ServerNews

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.simulation.simulation import Report

SEED: Final = 20_261_123
PLOT: Final = "month"
NEWS: Final = (
    ResourceNews.DRAWN,
    ResourceNews.GIVEN_BACK,
    ResourceNews.DRAW_FAILED,
    LeaseNews.NO_SHOW_WARNED,
    LeaseNews.NO_SHOW_RELEASED,
)
"""The events that are counted."""


def run(*, quick: bool = False) -> list[Row]:
    """Simulate the month; quick: its first day. Prints what should not have been."""
    source = month()
    report = simulate(source, SEED, timedelta(days=1 if quick else DAYS))
    print(f"{source.name}; seed {SEED}", *report.problems[:20], sep="\n")
    return list(rows_of(report))


def rows_of(report: Report) -> Iterator[Row]:
    """Yield the figures of a simulation; leases that start late, and findings of an audit, have a budget of none."""
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
        course = Course(PLOT, state, tuple(report.utilisation.hourly(state)))
        what = f"hosts {state}" if state in STATES else state
        yield Row(f"month: {what}, on average", measured, unit, course=course)
    yield Row("month: simulated in", report.seconds, "s of processor time")


def _by_way(report: Report) -> Iterator[Row]:
    counts = report.people.answers + report.watch.counts
    for way in WAYS:
        for what in (GRANTED, REFUSED, KEPT, GRANTED_AFTER_WAITING, GAVE_UP, FAILED_TRY):
            if counts[way, what]:
                yield Row(f"month, {way}: {what}", counts[way, what], "")


def _counted(report: Report, what: str) -> dict[str, int]:
    return {way: count for (way, name), count in report.watch.counts.items() if name == what}
