"""The usage of a simulation counted by hand: from what the book and the sandbox say at each moment, without the record.

The report of usage has to say the same, to the second. What is late is what a reservation holds before it is active for
the first time; what is missing is what its flags say. Hosts are used as long as two polls have both found a server.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import or_, select

from leasehold.cloud.sandbox.tables import hypervisors, servers
from leasehold.db.tables import allocations, leases, reservations, resources
from leasehold.features.usage.follow import follow
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.poll import poll
from leasehold.features.usage.report import read_usage
from leasehold.features.usage.summing import sum_days
from leasehold.features.usage.sums import DAY, KEYS, MOST, Asked, Group
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.resource import HOST, MAINTENANCE
from leasehold.model.states import LeaseStatus, ReservationStatus
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Row

    from bench.simulation.site import Site
    from leasehold.features.usage.report import Part, Usage

POLLS: Final = timedelta(seconds=UsageSettings().poll_seconds)
FOLLOWS: Final = timedelta(hours=1)
_OWNER: Final = (
    leases.c.id.label("lease_id"),
    leases.c.project_id,
    leases.c.user_id,
    reservations.c.id.label("reservation_id"),
    reservations.c.resource_type,
    reservations.c.status,
    leases.c.start_at,
    leases.c.end_at,
)
_IN_BOOK = (
    select(*_OWNER, allocations, resources.c.reference)
    .join(reservations, reservations.c.id == allocations.c.reservation_id)
    .join(leases, leases.c.id == reservations.c.lease_id)
    .join(resources, resources.c.number == allocations.c.resource_number)
    .where(reservations.c.resource_type != MAINTENANCE)
)
_LACKS = (
    select(*_OWNER, reservations.c.missing)
    .join(leases, leases.c.id == reservations.c.lease_id)
    .where(
        reservations.c.missing_resources.is_(True),
        reservations.c.resource_type != MAINTENANCE,
        leases.c.deleted_at.is_(None),
        leases.c.status.in_([LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE]),
    )
)
_THERE = select(servers.c.project_id, hypervisors.c.hypervisor_hostname).join(
    hypervisors, hypervisors.c.service_host == servers.c.service_host
)
NAMES: Final = ("held", "late", "missing", "used")


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose seconds these are, of what, and on which day."""

    project_id: str
    user_id: str
    lease_id: str
    resource: str
    resource_type: str
    day: int


@dataclass
class ByHand:
    """Seconds times hosts, by what became of them and whose they were, from the first moment on."""

    site: Site
    found: dict[str, Counter[Whose]] = field(default_factory=lambda: {name: Counter() for name in NAMES})
    begun: int = field(init=False)
    counted: int = field(init=False)
    delivered: set[str] = field(default_factory=set)
    polled: dict[tuple[str, str], Any] = field(default_factory=dict)
    polled_at: int | None = None

    def __post_init__(self) -> None:
        """Count from now on."""
        self.begun = self.counted = to_seconds(self.site.now())

    def until(self, moment: datetime) -> None:
        """Count the time up to a moment, in which nothing changes."""
        start, end = self.counted, to_seconds(moment)
        if start == end:
            return
        self.counted = end
        with self.site.world.service.db.reading() as connection:
            near = _IN_BOOK.where(allocations.c.starts_at < end, allocations.c.ends_at > start)
            held = connection.execute(near).all()
            lacks = connection.execute(_LACKS).all()
        self.delivered.update(row.reservation_id for row in held if row.status == ReservationStatus.ACTIVE)
        for row in held:
            if row.left_at is not None and to_seconds(row.left_at) <= start:
                continue
            span = max(start, row.starts_at), min(end, row.ends_at)
            self._add("held", row, row.reference, span, row.slots)
            if row.reservation_id not in self.delivered:
                # Before the start it is the lead time.
                late = max(span[0], to_seconds(row.start_at)), span[1]
                self._add("late", row, row.reference, late, row.slots)
        for row in lacks:
            span = max(start, to_seconds(row.start_at)), min(end, to_seconds(row.end_at))
            self._add("missing", row, "", span, row.missing or 0)

    def poll(self) -> None:
        """Look what is used, as a manager does at the same moment."""
        service, now = self.site.world.service, to_seconds(self.site.now())
        with service.db.reading() as connection:
            gone = or_(servers.c.gone_at.is_(None), servers.c.gone_at > self.site.now())
            there = {(row.project_id, row.hypervisor_hostname) for row in connection.execute(_THERE.where(gone))}
            active = _IN_BOOK.where(
                reservations.c.status == ReservationStatus.ACTIVE,
                allocations.c.starts_at <= now,
                allocations.c.ends_at > now,
                allocations.c.left_at.is_(None),
            )
            rows = connection.execute(active).all()
        found = {(row.reservation_id, row.reference): row for row in rows if (row.project_id, row.reference) in there}
        if self.polled_at is not None:
            for both in found.keys() & self.polled.keys():
                self._add("used", found[both], both[1], (self.polled_at, now), 1)
        self.polled, self.polled_at = found, now
        poll(service)

    def follow(self) -> None:
        """Do what managers do for the record."""
        service = self.site.world.service
        sequence_events(service)
        follow(service)
        sum_days(service.db, service.now())

    def differences(self) -> Iterator[str]:
        """Yield what a report of all the time says otherwise, for each group; none says nothing at all."""
        self.follow()
        for group in Group:
            asked = Asked(self.begun, self.counted, self.counted, group, most=MOST)
            with self.site.world.service.db.reading() as connection:
                rows = {_key(part): usage for part, usage in read_usage(connection, asked)}
            for name in NAMES:
                if name != "missing" or group is not Group.RESOURCE:
                    yield from _differences(name, group, self._sums(name, group), rows)

    def _add(self, name: str, row: Row[Any], resource: str, span: tuple[int, int], amount: int) -> None:
        start, end = span
        while start < end:
            until = min(end, start - start % DAY + DAY)
            whose = Whose(row.project_id, row.user_id, row.lease_id, resource, row.resource_type, start - start % DAY)
            self.found[name][whose] += amount * (until - start)
            start = until

    def _sums(self, name: str, group: Group) -> Counter[tuple[Any, ...]]:
        sums: Counter[tuple[Any, ...]] = Counter()
        for whose, seconds in self.found[name].items():
            sums[(*(getattr(whose, key) for key in KEYS[group]), whose.resource_type)] += seconds
        return sums


def _key(part: Part) -> tuple[Any, ...]:
    day = None if part.day is None else (part.day - from_seconds(0).date()) // timedelta(days=1) * DAY
    named = (part.project_id, part.user_id, part.lease_id, part.resource, day)
    return (*(each for each in named if each is not None), part.resource_type)


def _differences(
    name: str, group: Group, sums: Counter[tuple[Any, ...]], rows: dict[tuple[Any, ...], Usage]
) -> Iterator[str]:
    for key in sorted({*sums, *rows}):
        said = getattr(rows[key], name) if key in rows else 0
        # What is used of addresses is not counted here.
        if said != sums[key] and not (name == "used" and key[-1] != HOST):
            yield f"usage by {group.value}, {key}: {name} is {said} in the report, and {sums[key]} by hand"
