"""Fills a database with hosts and leases in bulk, with the rows that the service would have written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from sqlalchemy import func, insert, select, update

from bench.deployment import build_hosts, host_specs
from leasehold.cloud.sandbox.seed import FREEPOOL
from leasehold.cloud.sandbox.tables import aggregate_hosts, aggregates, hypervisors
from leasehold.db.columns.holding import LENGTHS
from leasehold.db.engine import open_engine, writing
from leasehold.db.tables import allocations, events, leases, pools, reservations, resources, tasks
from leasehold.model.resource import HOST, HOST_POOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection, Engine, Table

NAMESPACE: Final = UUID(int=20_261_121)
CHUNK: Final = 10_000
CELL: Final = timedelta(days=1)
BUSY: Final = timedelta(hours=20)
"""A filled host is leased for the first hours of each day and free for the rest."""
AT_REST: Final = timedelta(days=7)
"""So long ago filled leases were made."""
REQUEST: Final = {
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
    "before_end": "default",
}
TASK: Final = {"kind": "lease", "attempts": 0, "project_id": "demo"}
DEMAND: Final = '{"DISK_GB":20,"MEMORY_MB":4096,"VCPU":2}'


def first_day() -> datetime:
    """Return the day on which the filled leases begin."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=2)


def filled(url: str, hosts: int, count: int = 0, *, per_lease: int = 1) -> None:
    """Fill an empty database: the schema, enrolled hosts, and future leases on `per_lease` hosts each."""

    def day_by_day(number: int) -> Placed:
        day, place = divmod(number * per_lease, hosts)
        start = begin + day * CELL
        return Placed(number, start, start + BUSY, place)

    begin = first_day()
    build_hosts(url, hosts)
    engine = open_engine(url)
    with writing(engine) as connection:
        _enrol(connection, hosts)
    into_freepool(engine)
    if count:
        _fill(engine, _Filling(hosts, count, per_lease, day_by_day))
    engine.dispose()


def filled_estate(url: str, hosts: int, count: int, days: int, *, ours: int) -> None:
    """Fill an empty database as an estate is: leases of one host, of lengths that vary widely, over so many days.

    On each host they follow each other, with times between them. One in `ours` is of the project `demo`, the others are
    of 50 other projects.
    """
    dice = Random(count)
    begin, each = first_day(), count // hosts
    placed: list[Placed] = []
    for host in range(hosts):
        lengths = [dice.lognormvariate(0, 1) for _ in range(2 * each)]
        scale = days * 86_400 / sum(lengths)
        moment = begin
        for pause, length in zip(lengths[::2], lengths[1::2], strict=True):
            start = moment + timedelta(seconds=int(pause * scale))
            moment = start + timedelta(seconds=max(60, int(length * scale)))
            project = "demo" if len(placed) % ours == 0 else f"other-{len(placed) % 50}"
            placed.append(Placed(len(placed), start, moment, host, project))
    filled_as(url, hosts, placed)


def filled_as(url: str, hosts: int, placed: Sequence[Placed]) -> None:
    """Fill an empty database: the schema, enrolled hosts, and these leases of one host each, numbered from 0."""
    filled(url, hosts)
    engine = open_engine(url)
    _fill(engine, _Filling(hosts, len(placed), 1, placed.__getitem__))
    engine.dispose()


def filled_in_turn(url: str, hosts: int, count: int, *, at_once: int, length: timedelta) -> None:
    """Fill an empty database: the schema, enrolled hosts, and future leases of this length, so many at any moment."""
    begin = first_day()

    def one_after_the_other(number: int) -> Placed:
        turn, place = divmod(number, at_once)
        start = begin + turn * length
        return Placed(number, start, start + length, place)

    filled(url, hosts)
    engine = open_engine(url)
    _fill(engine, _Filling(hosts, count, 1, one_after_the_other))
    engine.dispose()


def fill_to_start(url: str, starts: Sequence[datetime]) -> list[str]:
    """Insert a lease of two hours for each start, on the hosts of `filled` in turn; return the leases' ids.

    The cloud has no prepared resources for them, so all work there happens at their start. No decisions may be made
    meanwhile.
    """

    def at_their_moment(number: int) -> Placed:
        return Placed(number, starts[number], starts[number] + timedelta(hours=2), number)

    engine = open_engine(url)
    _fill(engine, _Filling(len(starts), len(starts), 1, at_their_moment))
    engine.dispose()
    return [_id(number, "lease") for number in range(len(starts))]


@dataclass(frozen=True, slots=True)
class Placed:
    """A lease to insert: its number, its window, the index of its first host, and its project."""

    number: int
    start: datetime
    end: datetime
    place: int
    project: str = "demo"


@dataclass(frozen=True, slots=True)
class _Filling:
    """What to fill a database with."""

    hosts: int
    count: int
    per_lease: int
    place: Callable[[int], Placed]


def into_freepool(engine: Engine) -> None:
    """Put the hosts that `build_hosts` made into the free pool, where enrolment puts them."""
    there = select(aggregate_hosts.c.service_host).join(aggregates).where(aggregates.c.name == FREEPOOL)
    members = (
        select(aggregates.c.id, hypervisors.c.service_host)
        .select_from(hypervisors.join(aggregates, aggregates.c.name == FREEPOOL))
        .where(hypervisors.c.service_host.like("node-%"), hypervisors.c.service_host.not_in(there))
    )
    with writing(engine) as connection:
        connection.execute(insert(aggregate_hosts).from_select(["aggregate_id", "service_host"], members))


def _enrol(connection: Connection, hosts: int) -> None:
    now = datetime.now(UTC)
    rows = [
        {
            "id": str(spec.id),
            "alive": 1,
            "type": HOST,
            "pool": HOST_POOL,
            "reference": spec.hypervisor_hostname,
            "capacity": {"VCPU": spec.vcpus, "MEMORY_MB": spec.memory_mb, "DISK_GB": spec.local_gb},
            "max_unit": {"VCPU": spec.vcpus, "MEMORY_MB": spec.memory_mb, "DISK_GB": spec.local_gb},
            "attributes": _attributes(spec.hypervisor_hostname, spec.service_host, spec.vcpus, spec.memory_mb),
            "traits": sorted(spec.traits),
            "reservable": True,
            "generation": 1,
            "created_at": now,
        }
        for spec in host_specs(hosts)
    ]
    connection.execute(insert(resources), rows)
    connection.execute(update(pools).where(pools.c.name == HOST_POOL).values(generation=1))


def _attributes(hostname: str, service: str, vcpus: int, memory_mb: int) -> dict[str, Any]:
    return {
        "hypervisor_hostname": hostname,
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8002002,
        "service_name": service,
        "vcpus": vcpus,
        "memory_mb": memory_mb,
        "local_gb": 2000,
        "cpu_info": "{}",
        "availability_zone": "zone-n",
        "status": None,
        "trust_id": None,
    }


def _fill(engine: Engine, filling: _Filling) -> None:
    with writing(engine) as connection:
        first = connection.execute(select(func.min(resources.c.number))).scalar_one()
    numbers = iter(range(filling.count))
    while chunk := list(islice(numbers, max(1, CHUNK // filling.per_lease))):
        with writing(engine) as connection:
            for table, rows in _rows(filling, chunk, first).items():
                connection.execute(insert(table), rows)
    with writing(engine) as connection:
        connection.execute(update(pools).where(pools.c.name == HOST_POOL).values(generation=2))


def _rows(filling: _Filling, chunk: list[int], first: int) -> dict[Table, list[dict[str, Any]]]:
    found: dict[Table, list[dict[str, Any]]] = {each: [] for each in (leases, reservations, events, allocations, tasks)}
    now = datetime.now(UTC)
    for number in chunk:
        placed = filling.place(number)
        lease_id, reservation_id = _id(number, "lease"), _id(number, "reservation")
        found[leases].append(_lease(lease_id, placed, now))
        found[reservations].append(_reservation(reservation_id, lease_id, filling.per_lease, now))
        found[events] += _events(lease_id, number, placed.start, placed.end, now)
        found[tasks].append({**TASK, "subject": lease_id, "due_at": placed.start})
        found[allocations] += _allocations(reservation_id, lease_id, placed, filling, first)
    return found


def _id(number: int, kind: str) -> str:
    return str(uuid5(NAMESPACE, f"{kind} {number}"))


def _lease(ident: str, placed: Placed, now: datetime) -> dict[str, Any]:
    return {
        "id": ident,
        "name": f"filled-{placed.number}",
        "user_id": "filler",
        "project_id": placed.project,
        "start_at": placed.start,
        "end_at": placed.end,
        "status": "PENDING",
        "degraded": False,
        "generation": 0,
        "created_at": now - AT_REST,
        # Nothing has changed lately in an estate that is at rest.
        "updated_at": now - AT_REST,
        **_holding(placed),
    }


def _holding(placed: Placed) -> dict[str, int]:
    """Return the columns that `leasehold.db.columns.holding` writes."""
    seconds = (placed.end - placed.start).total_seconds()
    length = next(each for each in LENGTHS if seconds <= each)
    return {"holds_from": int(placed.start.timestamp()), "holds_length": length, "holds_noted": 0}


def _reservation(ident: str, lease_id: str, hosts: int, now: datetime) -> dict[str, Any]:
    return {
        "id": ident,
        "lease_id": lease_id,
        "position": 0,
        "resource_type": HOST,
        "resource_id": str(uuid5(NAMESPACE, ident)),
        "request": {**REQUEST, "min": hosts, "max": hosts},
        "status": "pending",
        "missing_resources": False,
        "resources_changed": False,
        "cloud": {},
        "created_at": now,
        "updated_at": now,
    }


def _events(lease_id: str, number: int, start: datetime, end: datetime, now: datetime) -> Iterator[dict[str, Any]]:
    moments = {"start_lease": start, "before_end_lease": end - timedelta(hours=1), "end_lease": end}
    for kind, time in moments.items():
        row = {"id": _id(number, kind), "lease_id": lease_id, "type": kind, "time": time}
        yield {**row, "status": "UNDONE", "created_at": now, "updated_at": now}


def _allocations(
    reservation_id: str, lease_id: str, placed: Placed, filling: _Filling, first: int
) -> Iterator[dict[str, Any]]:
    """Yield the allocations of a lease; on the second half of the hosts they are slots, as of instance leases."""
    for offset in range(filling.per_lease):
        host = (placed.place + offset) % filling.hosts
        yield {
            "pool": HOST_POOL,
            "reservation_id": reservation_id,
            "lease_id": lease_id,
            "resource_number": first + host,
            "starts_at": int(placed.start.timestamp()),
            "ends_at": int(placed.end.timestamp()),
            "slots": 1,
            "demand": DEMAND if filling.per_lease > 1 and host >= filling.hosts // 2 else None,
            "generation": 2,
        }
