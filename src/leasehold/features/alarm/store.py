"""Capacity alarms: their rows, and the compare-and-swap by which each crossing is told once (decision 0048)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import JSON, BigInteger, Boolean, Column, String, Text, case, func, or_, select, update

from leasehold.db.outbox import put_project_event
from leasehold.db.owned import OwnedRows
from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime
from leasehold.features.alarm.model import Alarm, AlarmState

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.model.event_log import AlarmNews

# The reservation is what the client asked for, the request what its resource type made of it. The last check wrote what
# follows `generation`; `low` keeps its value while nothing can be counted.
alarms = table(
    "alarms",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("reservation", JSON, nullable=False),
    Column("request", JSON, nullable=False),
    Column("below", BigInteger, nullable=False),
    Column("duration", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("low", Boolean),
    Column("available", BigInteger),
    Column("reason", Text),
    Column("changed_at", UtcDateTime),
    Column("checked_at", UtcDateTime),
    Column("sees_private", Boolean),
)

_STATE = case(
    (alarms.c.available.is_(None), AlarmState.UNKNOWN),
    (alarms.c.low.is_(True), AlarmState.LOW),
    else_=AlarmState.OK,
)
ALARMS = OwnedRows(alarms, Alarm, {"state": _STATE}, {"sees_private": lambda row: bool(row.sees_private)})


def alarms_to_check(connection: Connection, most: int) -> Sequence[str]:
    """Return the ids of up to `most` alarms, those first that were not checked for the longest time."""
    last = func.coalesce(alarms.c.checked_at, alarms.c.created_at)
    return connection.execute(select(alarms.c.id).order_by(last, alarms.c.id).limit(most)).scalars().all()


def find_alarms(connection: Connection, ids: Collection[str]) -> Sequence[Alarm]:
    """Return those of these alarms that are still there, by their ids."""
    return ALARMS.read(connection.execute(select(alarms).where(alarms.c.id.in_(ids)).order_by(alarms.c.id)))


def save_check(connection: Connection, before: Alarm, after: Alarm) -> bool:
    """Write what a check has found; False and nothing is written if the alarm was checked or deleted meanwhile."""
    seen = (alarms.c.id == before.id, alarms.c.generation == before.generation)
    found = {name: getattr(after, name) for name in ("low", "available", "reason", "changed_at", "checked_at")}
    change = update(alarms).where(*seen).values(generation=before.generation + 1, **found)
    return connection.execute(change).rowcount == 1


def mark_checked(connection: Connection, ids: Collection[str], now: datetime) -> None:
    """Record that a check of these alarms has found nothing new."""
    older = or_(alarms.c.checked_at.is_(None), alarms.c.checked_at < now)
    connection.execute(update(alarms).where(alarms.c.id.in_(ids), older).values(checked_at=now))


def put_event(connection: Connection, event_type: AlarmNews, alarm: Alarm, now: datetime) -> None:
    """Record an event of an alarm, with its state after it, for the project that has it."""
    payload = {
        **{name: getattr(alarm, name) for name in ("id", "name", "user_id", "project_id")},
        "reservation": dict(alarm.reservation),
        **{name: getattr(alarm, name) for name in ("below", "duration", "state", "available", "reason")},
    }
    put_project_event(connection, event_type, alarm.project_id, payload, now)
