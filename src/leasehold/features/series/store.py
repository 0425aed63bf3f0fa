"""Series of leases: their rows, one for each series, with its occurrences (decision 0054)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, BigInteger, Column, String, Text, select, update

from leasehold.db.dialects import rows_among
from leasehold.db.owned import OwnedRows
from leasehold.db.tables import PURGED, leases, table
from leasehold.db.types import UtcDateTime
from leasehold.features.series.model import Granted, Occurrence, OccurrenceRefusal, Series
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

# `draft` is what each occurrence asks for; `occurrences` are JSON because they are read and written together. A row
# stays until it is purged: a deleted one says what became of its idempotency key.
series = table(
    "series",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("rule", Text, nullable=False),
    Column("time_zone", String(64), nullable=False),
    Column("draft", JSON, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("occurrences", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Column("generation", BigInteger, nullable=False),
    Column("deleted_at", UtcDateTime),
    info={PURGED: ("deleted_at",)},
)


def _row(each: Series) -> dict[str, Any]:
    kept = ("id", "project_id", "user_id", "rule", "time_zone", "digest", "created_at")
    return {**{name: getattr(each, name) for name in kept}, **_changing(each)}


def _changing(each: Series) -> dict[str, Any]:
    return {
        "name": each.name,
        "draft": dict(each.draft),
        "occurrences": [_stored(one) for one in each.occurrences],
        "updated_at": each.updated_at,
        "generation": each.generation,
        "deleted_at": each.deleted_at,
    }


def _stored(one: Occurrence) -> dict[str, Any]:
    refusal = one.refusal
    why = None if refusal is None else {"code": refusal.code, "message": refusal.message, "details": refusal.details}
    start, end = one.window.start.isoformat(), one.window.end.isoformat()
    return {"start": start, "end": end, "lease_id": one.lease_id, "refusal": why}


def _occurrence(stored: Mapping[str, Any]) -> Occurrence:
    window = Window(datetime.fromisoformat(stored["start"]), datetime.fromisoformat(stored["end"]))
    refusal = None if stored["refusal"] is None else OccurrenceRefusal(**stored["refusal"])
    return Occurrence(window, stored["lease_id"], refusal)


SERIES = OwnedRows(
    series,
    Series,
    converted={"occurrences": lambda row: tuple(map(_occurrence, row.occurrences))},
    stored=_row,
    there=(series.c.deleted_at.is_(None),),
)


def find_series(connection: Connection, ident: str, *, lock: bool = False, gone: bool = False) -> Series | None:
    """Return a series, or None; with `gone` also one that was deleted."""
    query = select(series).where(series.c.id == ident)
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None or (row.deleted_at is not None and not gone) else SERIES.read([row])[0]


def granted(connection: Connection, lease_ids: Sequence[str]) -> Mapping[str, Granted]:
    """Return what those of these leases are like that are not deleted, by id."""
    query = select(leases.c.id, leases.c.status, leases.c.start_at, leases.c.end_at)
    rows = rows_among(connection, query.where(leases.c.deleted_at.is_(None)), leases.c.id, lease_ids)
    return {row.id: Granted(LeaseStatus(row.status), Window(row.start_at, row.end_at)) for row in rows}


def save_series(connection: Connection, after: Series) -> Series:
    """Write a series that is locked, and return it with its new generation."""
    after = replace(after, generation=after.generation + 1)
    connection.execute(update(series).where(series.c.id == after.id).values(_changing(after)))
    return after
