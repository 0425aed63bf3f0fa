"""The machines of hosts, and their sleeps: one row for each, with what it took."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    String,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from leasehold.db.tables import table
from leasehold.db.types import COUNTED, BigKey, UtcDateTime
from leasehold.features.power.model import SEEN, Machine, Outcome, Sleep

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Row

machines = table(
    "machines",
    Column("resource_number", BigInteger, primary_key=True, autoincrement=False),
    Column("power_class", String(64), nullable=False),
    Column("address", String(255), nullable=False),
    Column("kept_on", Boolean, nullable=False),
    Column("failure", String(500)),
    Column("failed_at", UtcDateTime),
)
# `watts` is what a machine consumed before it was switched off.
sleeps = table(
    "sleeps",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("resource_number", BigInteger, nullable=False),
    Column("power_class", String(64), nullable=False),
    Column("takes_seconds", Integer, nullable=False),
    Column("decided_at", UtcDateTime, nullable=False),
    Column("stopped_at", UtcDateTime),
    Column("off_at", UtcDateTime),
    Column("woken_at", UtcDateTime),
    Column("reported_at", UtcDateTime),
    Column("cycled_at", UtcDateTime),
    Column("ready_at", UtcDateTime, index=True),
    Column("outcome", String(16)),
    Column("late", Integer, nullable=False),
    Column("watts", Float),
    Index(None, "power_class", "ready_at"),
    Index(None, "outcome"),
    **COUNTED,
)

# How many requests were delayed on a day of UTC, and by how much together, as far as it is known.
delays = table(
    "power_delays",
    Column("day", UtcDateTime, primary_key=True),
    Column("power_class", String(64), primary_key=True),
    Column("zone", String(255), primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Column("seconds", BigInteger, nullable=False),
)

_OPEN = or_(sleeps.c.outcome.is_(None), and_(sleeps.c.outcome == Outcome.FAILED, sleeps.c.ready_at.is_(None)))
"""Of a machine that is not on; one that has failed to wake up is not, until it does."""
_KEPT = tuple(each for each in Sleep.__dataclass_fields__ if each not in ("takes", "outcome"))


def read_machines(connection: Connection) -> dict[int, Machine]:
    """Return all machines by the number of their resource, also of resources that were removed."""
    rows = connection.execute(select(machines).order_by(machines.c.resource_number)).mappings()
    return {row["resource_number"]: Machine(**row) for row in rows}


def find_machine(connection: Connection, number: int) -> Machine | None:
    """Return the machine of a resource, or None."""
    found = connection.execute(select(machines).where(machines.c.resource_number == number))
    row = found.mappings().first()
    return None if row is None else Machine(**row)


def put_machine(connection: Connection, machine: Machine) -> None:
    """Write how a machine is switched, in place of what was written before; the caller has locked its pool."""
    forget_machine(connection, machine.resource_number)
    connection.execute(insert(machines), asdict(machine))


def forget_machine(connection: Connection, number: int) -> None:
    """Forget how a machine is switched."""
    connection.execute(delete(machines).where(machines.c.resource_number == number))


def add_sleep(
    connection: Connection, number: int, power_class: str, takes: timedelta, now: datetime, **more: Any
) -> None:
    """Write that a machine is to sleep, with what is known of the sleep already."""
    values = {"resource_number": number, "power_class": power_class, "takes_seconds": int(takes.total_seconds())}
    connection.execute(insert(sleeps), {**values, "decided_at": now, "late": 0, **more})


def change_sleep(connection: Connection, ident: int, **values: Any) -> None:
    """Write what has become of a sleep."""
    connection.execute(update(sleeps).where(sleeps.c.id == ident).values(**values))


def open_sleeps(connection: Connection, number: int | None = None) -> dict[int, Sleep]:
    """Return the sleeps that have not ended, by the number of their resource; with `number` of that one alone."""
    query = select(sleeps).where(_OPEN).order_by(sleeps.c.id)
    if number is not None:
        query = query.where(sleeps.c.resource_number == number)
    return {row.resource_number: _sleep(row) for row in connection.execute(query)}


def _sleep(row: Row[Any]) -> Sleep:
    return Sleep(
        **{name: getattr(row, name) for name in _KEPT},
        takes=timedelta(seconds=row.takes_seconds),
        outcome=None if row.outcome is None else Outcome(row.outcome),
    )


def awake_since(connection: Connection, after: datetime) -> dict[int, datetime]:
    """Return by number when machines that have slept were last ready again, if that was after a moment."""
    last = func.max(sleeps.c.ready_at).label("last")
    query = select(sleeps.c.resource_number, last).where(sleeps.c.ready_at > after)
    return {row.resource_number: row.last for row in connection.execute(query.group_by(sleeps.c.resource_number))}


def wakes_of(connection: Connection, power_class: str) -> list[timedelta]:
    """Return how long the last wakes of a class took, oldest first, but for machines that were switched twice."""
    ended = (sleeps.c.power_class == power_class, sleeps.c.outcome == Outcome.READY)
    timed = (sleeps.c.ready_at.is_not(None), sleeps.c.woken_at.is_not(None), sleeps.c.cycled_at.is_(None))
    query = select(sleeps).where(*ended, *timed).order_by(sleeps.c.ready_at.desc()).limit(SEEN)
    found = map(_sleep, reversed(connection.execute(query).all()))
    return [each.ready_at - each.boots_since for each in found if each.ready_at and each.boots_since]
