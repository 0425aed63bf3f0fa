"""Rows for the database tests, written through `leasehold.db`, counters of rows and statements, and concurrent work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from sqlalchemy import event, func, select

from leasehold.db.allocation import Grant, insert_allocations
from leasehold.db.engine import engines_of, reading
from leasehold.db.leases.lease import insert_lease
from leasehold.db.resources.resource import insert_resource
from leasehold.db.store import Database
from leasehold.db.tables import allocations
from leasehold.model.allocation import Pick
from leasehold.model.errors import LeaseholdError
from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation
from leasehold.model.resource import HOST, HOST_POOL
from leasehold.model.segment import Cause
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.model.windows import Window
from tests.counts.meter import BEGINS
from tests.databases import another

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Connection, Engine, Table

T = TypeVar("T")
NOW = datetime(2031, 5, 1, 9, 0, tzinfo=UTC)


def hour(hours: float) -> datetime:
    """Return the moment that many hours after `NOW`."""
    return NOW + timedelta(hours=hours)


def hours(start: float, end: float) -> Window:
    return Window(hour(start), hour(end))


def ident() -> str:
    return str(uuid4())


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """Yield a list that collects every statement except those that begin or end a transaction."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if statement not in BEGINS:
            seen.append(statement)

    engines = engines_of(engine)
    for each in engines:
        event.listen(each, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for each in engines:
            event.remove(each, "before_cursor_execute", note)


def at_once(engine: Engine, number: int, work: Callable[[Database, int], T]) -> list[T]:
    """Do the work in this many threads at the same time, each with an engine of its own as a process has."""
    together = Barrier(number)

    def run(each: int) -> T:
        with another(engine) as own:
            together.wait(60)
            return work(Database(own), each)

    with ThreadPoolExecutor(number) as threads:
        return list(threads.map(run, range(number)))


def outcomes_at_once(*works: Callable[[], object]) -> list[str]:
    """Do each work in a thread of its own; returns the code of the error that it raised, or "done"."""

    def outcome(work: Callable[[], object]) -> str:
        try:
            work()
        except LeaseholdError as error:
            return error.code
        return "done"

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(outcome, works))


def count(engine: Engine, table: Table) -> int:
    with reading(engine) as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def enrol(connection: Connection, name: str = "cmp-1", generation: int = 1, **changes: Any) -> int:
    """Enrol a host and return its number."""
    values: dict[str, Any] = {
        "id": name,
        "type": HOST,
        "pool": HOST_POOL,
        "reference": f"{name}.example",
        "capacity": {"VCPU": 16},
        "max_unit": {"VCPU": 8},
        "attributes": {"hypervisor_hostname": f"{name}.example"},
        "traits": ["CUSTOM_FAST"],
        "reservable": True,
        "generation": generation,
        "created_at": NOW,
    }
    return insert_resource(connection, {**values, **changes})


def reservation(lease_id: str, **changes: Any) -> Reservation:
    values: dict[str, Any] = {
        "id": ident(),
        "lease_id": lease_id,
        "resource_type": HOST,
        "resource_id": ident(),
        "request": {"min": 1, "max": 2},
        "created_at": NOW,
    }
    return Reservation(**{**values, **changes})


def lease(parts: int = 1, **changes: Any) -> Lease:
    """Return a lease from 10 to 11 o'clock with its three events, not yet written."""
    lease_id = ident()
    window = changes.get("window", hours(1, 2))
    moments = (
        (EventType.START, window.start),
        (EventType.BEFORE_END, window.start + window.duration / 2),
        (EventType.END, window.end),
    )
    values: dict[str, Any] = {
        "id": lease_id,
        "name": "lease",
        "user_id": "alice",
        "project_id": "demo",
        "window": window,
        "status": LeaseStatus.PENDING,
        "created_at": NOW,
        "reservations": tuple(reservation(lease_id) for _ in range(parts)),
        "events": tuple(
            Event(ident(), lease_id, kind, moment, EventStatus.UNDONE, created_at=NOW) for kind, moment in moments
        ),
    }
    return Lease(**{**values, **changes})


def write(connection: Connection, **changes: Any) -> Lease:
    """Write a lease and return it."""
    written = lease(**changes)
    insert_lease(connection, written)
    return written


def hold(
    connection: Connection,
    owner: Lease,
    *numbers: int,
    window: Window | None = None,
    generation: int = 1,
    slots: int = 1,
    demand: Mapping[str, int] | None = None,
    pool: str = HOST_POOL,
    part: int = 0,
) -> list[int]:
    """Allocate these resources to a reservation of a lease; return the ids of the allocations."""
    mine = owner.reservations[part].id
    when = window or owner.window
    grants = [Grant(pool, generation, owner.id, mine, when, Pick(number, slots, demand)) for number in numbers]
    known = set(connection.scalars(select(allocations.c.id)))
    insert_allocations(connection, grants, Cause.GRANTED)
    return [
        each for each in connection.scalars(select(allocations.c.id).order_by(allocations.c.id)) if each not in known
    ]


def active(owner: Lease) -> dict[str, Any]:
    """Return the changes that make a lease active."""
    parts = owner.with_reservations(None, status=ReservationStatus.ACTIVE).reservations
    return {"status": LeaseStatus.ACTIVE, "reservations": parts}
