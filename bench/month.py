"""A simulated month of a cloud with 144 hosts: as now, with sleep, with fillers and flexible leases, and with lending.

The API, the manager and the sandbox are the real ones, with a clock that is set; see `bench/simulation`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.row import Course, Point, Row
from bench.simulation.hosts import TROUBLES
from bench.simulation.lateness import FAILED_TRY, GAVE_UP, GRANTED_AFTER_WAITING, STARTED
from bench.simulation.lenders import NOT_CLAIMED, NOT_OFFERED, OFFERED
from bench.simulation.parts import PARTS
from bench.simulation.people import GRANTED, KEPT, LATER, REFUSED
from bench.simulation.plan import CLAIM, FLEXIBLE, WAYS
from bench.simulation.simulation import simulate
from bench.simulation.source import month
from bench.simulation.utilisation import ASLEEP, FILLED, FREE, IDLE, STATES, USED, WAITING
from leasehold.model.event_log import LeaseNews, ResourceNews, ServerNews
from leasehold.model.terms.lease_type import LeaseType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.simulation.simulation import Report
    from bench.simulation.utilisation import Utilisation

SEED: Final = 20_261_123
OFF: Final = 75.0
"""In percent of what stays idle: so many host hours have to be off at least."""
UNUSED: Final = 10.0
"""In percent of all host hours: so many may be promised, and not used, in the last parts."""
MORE: Final = 30.0
"""In percent: so many host hours more than as now are to be used in the last parts."""
NEWS: Final = (
    ResourceNews.DRAWN,
    ResourceNews.GIVEN_BACK,
    ResourceNews.DRAW_FAILED,
    LeaseNews.NO_SHOW_WARNED,
    LeaseNews.NO_SHOW_RELEASED,
    LeaseNews.RESCHEDULED,
)
"""The events that are counted."""
LAST: Final = ("month-filled", "month-lent")
"""The parts that have goals over those of the first one."""
LENGTH: Final = "simulated days"
SUM: Final = "host hours used, by leases and fillers"


def run(*, quick: bool = False) -> list[Row]:
    """Simulate all parts, one after the other; quick: the first day of each. Prints what should not have been."""
    source, rows = month(), list[Row]()
    for name, part in PARTS.items():
        report = simulate(source, SEED, timedelta(days=1 if quick else part.days), part)
        print(f"{name}: {source.name}; seed {SEED}", *report.problems[:20], sep="\n", flush=True)
        rows += rows_of(report, name)
    return [*rows, *compared(rows)]


def rows_of(report: Report, name: str = "month") -> Iterator[Row]:
    """Yield the figures of a simulation; leases that start late, and findings of an audit, have a budget of none."""
    for row in _rows(report, name):
        yield replace(row, name=row.name.replace("month", name, 1))


def compared(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield what the last parts gain over the first one, where both are there, of as many days."""
    known = {row.name: row.measured for row in rows}
    now, days = known.get(f"month: {SUM}"), known.get(f"month: {LENGTH}")
    for name in LAST:
        here = known.get(f"{name}: {SUM}")
        if now and here and known.get(f"{name}: {LENGTH}") == days:
            what = f"{name}: host hours used as now, of those that are used here"
            yield Row(what, 100 * now / here, "%", 100 / (1 + MORE / 100))


def _rows(report: Report, name: str) -> Iterator[Row]:
    yield Row(f"month: {LENGTH}", report.utilisation.days, "")
    yield Row("month: leases that started", sum(_counted(report, STARTED).values()), "")
    yield Row("month: leases that started late", len(report.watch.late), "", 0, exact=True)
    findings = len(report.findings)
    yield Row(f"month: findings of {report.audits} hourly audits", findings, "", 0, exact=True)
    yield from _by_way(report)
    yield from _now(report, name)
    if report.watch.waited:
        hours = [each / timedelta(hours=1) for each in report.watch.waited]
        yield Row("month: wait of those granted after waiting, median", median(hours), "h")
        yield Row("month: wait of those granted after waiting, longest", max(hours), "h")
    for trouble in TROUBLES:
        yield Row(f"month: {trouble}", report.hosts.happened[trouble], "")
    yield Row("month: preemptible servers told of their end", report.news[ServerNews.ENDS], "")
    for news in NEWS:
        yield Row(f"month: events {news}", report.news[news], "")
    yield from _states(report.utilisation, name)
    yield from _saved(report, None if name.startswith("now-") else 100 - OFF)
    yield from _fillers(report)
    yield Row("month: simulated in", report.seconds, "s of processor time")


def _states(seen: Utilisation, name: str) -> Iterator[Row]:
    for state in (*STATES, WAITING):
        share = seen.mean(state)
        unit = "%" if state in STATES else "at a time"
        measured = 100 * share if state in STATES else share * len(seen.site.hosts)
        course = Course(name, state, tuple(seen.hourly(state)))
        what = f"hosts {state}" if state in STATES else state
        budget = UNUSED if state == IDLE and name in LAST else None
        yield Row(f"month: {what}, on average", measured, unit, budget, course=course)
    yield Row(f"month: {SUM}", seen.hours(USED) + seen.hours(FILLED), "h")
    promised = seen.hours(USED) + seen.hours(IDLE)
    if promised:
        yield Row("month: of the host hours that leases have, those not used", 100 * seen.hours(IDLE) / promised, "%")


def _now(report: Report, name: str) -> Iterator[Row]:
    """Yield what became of those who want a lease at once, or none."""
    spares = name.removeprefix("now-")
    counts = {what: report.people.answers[LeaseType.IMMEDIATE.value, what] for what in (GRANTED, LATER, REFUSED)}
    for what, count in counts.items() if any(counts.values()) else ():
        point = Point("now", what, float(spares)) if spares.isdecimal() else None
        share = 100 * count / sum(counts.values())
        yield Row(f"month: of those who ask for now, {what}", share, "%", point=point)
    if report.people.later:
        minutes = [each / timedelta(minutes=1) for each in report.people.later]
        yield Row("month: wait until hosts are ready, median", median(minutes), "min")
        yield Row("month: wait until hosts are ready, longest", max(minutes), "min")


def _saved(report: Report, budget: float | None) -> Iterator[Row]:
    """Yield what sleeping hosts have saved, if any slept; `budget` is for what stays on of what is idle."""
    saved = [each for _, each in report.saved]
    if not saved:
        return
    seen, site = report.utilisation, report.utilisation.site
    off = sum(each.hours_off for each in saved)
    yield Row("month: host hours off", off, "h")
    idle = seen.hours(ASLEEP) + seen.hours(FREE)
    yield Row("month: of the host hours that stay idle, those that are on", 100 * (1 - off / idle), "%", budget)
    yield Row("month: energy saved", sum(each.kwh or 0 for each in saved), "kWh")
    wakes = sum(each.wakes for each in saved)
    yield Row("month: wakes of each host and day", wakes / len(site.hosts) / seen.days, "")
    for what in ("failed_wakes", "called_off", "late_starts"):
        most = 0 if what == "late_starts" else None
        count = sum(getattr(each, what) for each in saved)
        yield Row(f"month: {what.replace('_', ' ')} of sleeping hosts", count, "", most, exact=most is not None)
    yield Row("month: requests that sleeping hosts delay", sum(each.delayed_requests for each in saved), "")


def _fillers(report: Report) -> Iterator[Row]:
    """Yield what fillers had, how long, and why they lost it, if there were any."""
    found = report.fillers
    if not found.answers:
        return
    yield Row("month: fillers granted", found.answers[201], "")
    yield Row("month: hosts that fillers got", len(found.hosts), "")
    yield Row("month: host hours used by fillers", report.utilisation.hours(FILLED), "h")
    if found.lives:
        hours = [each / timedelta(hours=1) for each in found.lives]
        yield Row("month: time that a filler has a host, median", median(hours), "h")
        yield Row("month: time that a filler has a host, longest", max(hours), "h")
    for reason, count in sorted(found.reasons.items()):
        yield Row(f"month: hosts that left fillers: {reason.removesuffix('.')}", count, "")
    yield Row("month: hosts that left fillers without the notice", found.unnoticed, "", 0, exact=True)
    yield Row("month: hosts that fillers did not leave in time", found.overdue, "", 0, exact=True)
    yield Row("month: leases that fillers delayed", found.delayed, "", 0, exact=True)


def _by_way(report: Report) -> Iterator[Row]:
    counts: Mapping[tuple[str, str], int] = report.people.answers + report.watch.counts
    whats = (GRANTED, LATER, REFUSED, KEPT, GRANTED_AFTER_WAITING, GAVE_UP, FAILED_TRY)
    for way in (*WAYS, FLEXIBLE, CLAIM):
        for what in (*whats, OFFERED, NOT_OFFERED, NOT_CLAIMED):
            if counts.get((way, what)):
                yield Row(f"month, {way}: {what}", counts[way, what], "")


def _counted(report: Report, what: str) -> dict[str, int]:
    return {way: count for (way, name), count in report.watch.counts.items() if name == what}
