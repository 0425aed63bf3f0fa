"""What sleeping hosts have saved, and what it cost: for each day, class of machines and zone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import or_, select

from leasehold.db.resources.resource import resources_by_number
from leasehold.features.power.delays import DelayCounts
from leasehold.features.power.model import Outcome, zone_of
from leasehold.features.power.options import PowerSettings
from leasehold.features.power.store import delays, sleeps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime

    from sqlalchemy import Row

    from leasehold.features.power.options import MachineClass
    from leasehold.leasing.service import Service

DAY = timedelta(days=1)


class Part(NamedTuple):
    """What a row of the report is about; the days are those of UTC."""

    day: date
    power_class: str
    zone: str


@dataclass(slots=True)
class Saved:
    """Host hours off, the energy that this saved, how often machines woke up, what went wrong, and what was delayed.

    `kwh` is None where it is not known what a machine consumes.
    """

    hours_off: float = 0.0
    kwh: float | None = 0.0
    wakes: int = 0
    failed_wakes: int = 0
    called_off: int = 0
    late_starts: int = 0
    delayed_requests: int = 0
    delay_seconds: int = 0


def report(service: Service, start: datetime, end: datetime) -> Sequence[tuple[Part, Saved]]:
    """Return what there was in [start, end), by day, class and zone; delays are counted by whole days."""
    settings, until = service.settings.of(PowerSettings), min(end, service.now())
    query = select(sleeps).where(
        sleeps.c.decided_at < end, or_(sleeps.c.ready_at.is_(None), sleeps.c.ready_at >= start)
    )
    for each in service.listeners:
        if isinstance(each, DelayCounts):
            each.write()
    days = select(delays).where(delays.c.day < end, delays.c.day > start - DAY)
    with service.db.reading() as connection:
        rows = connection.execute(query.order_by(sleeps.c.id)).all()
        found = resources_by_number(connection, {row.resource_number for row in rows})
        delayed = connection.execute(days).all()
    saved: dict[Part, Saved] = defaultdict(Saved)
    for row in rows:
        zone = zone_of(found[row.resource_number])
        for day, change in _changes(row, start, until, settings.named(row.power_class)):
            _add(saved[Part(day, row.power_class, zone)], change)
    for row in delayed:
        sums = saved[Part(row.day.date(), row.power_class, row.zone)]
        sums.delayed_requests, sums.delay_seconds = row.requests, row.seconds
    return sorted(saved.items())


def _changes(
    row: Row[tuple[object, ...]], start: datetime, end: datetime, machine_class: MachineClass | None
) -> Iterator[tuple[date, Saved]]:
    """Yield what one sleep adds to each day of the window."""
    watts = _watts(row, machine_class)
    if row.off_at is not None:
        for day, hours in _by_day(max(row.off_at, start), min(row.woken_at or end, end)):
            yield day, Saved(hours, None if watts is None else hours * watts / 1000)
    if row.outcome == Outcome.CALLED_OFF and start <= row.ready_at < end:
        yield row.ready_at.date(), Saved(called_off=1, late_starts=row.late)
    elif row.woken_at is not None and start <= row.woken_at < end:
        failed = int(row.outcome == Outcome.FAILED)
        yield row.woken_at.date(), Saved(wakes=1, failed_wakes=failed, late_starts=row.late)


def _watts(row: Row[tuple[object, ...]], machine_class: MachineClass | None) -> float | None:
    """Return what a machine saved while it was off: what it consumed before, or else what its class says."""
    on = row.watts or (machine_class and machine_class.watts_on) or None
    return None if on is None else max(0.0, on - (machine_class.watts_off if machine_class else 0.0))


def _by_day(start: datetime, end: datetime) -> Iterator[tuple[date, float]]:
    while start < end:
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0) + DAY
        yield start.date(), (min(midnight, end) - start) / timedelta(hours=1)
        start = midnight


def _add(sum_: Saved, more: Saved) -> None:
    sum_.hours_off += more.hours_off
    sum_.kwh = None if sum_.kwh is None or more.kwh is None else sum_.kwh + more.kwh
    sum_.wakes += more.wakes
    sum_.failed_wakes += more.failed_wakes
    sum_.called_off += more.called_off
    sum_.late_starts += more.late_starts
