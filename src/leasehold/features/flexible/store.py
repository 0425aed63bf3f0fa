"""The terms of flexible leases: a row for each, which changes only while the row of its lease is locked."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, Column, Integer, String, case, delete, exists, insert, or_, select, update

from leasehold.db.dialects import rows_among
from leasehold.db.owned import OwnedRows
from leasehold.db.tables import PURGED, allocations, leases, table
from leasehold.db.types import UtcDateTime
from leasehold.features.flexible.model import Flexible, Piece, Strategy, Terms
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from leasehold.features.flexible.options import FlexibleSettings

_SECOND = timedelta(seconds=1)
# `start_at` and `end_at` are where it was placed; `frozen_at` follows from its terms.
flexible_leases = table(
    "flexible_leases",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("earliest", UtcDateTime, nullable=False),
    Column("latest", UtcDateTime, nullable=False),
    Column("duration_seconds", Integer, nullable=False),
    Column("frozen_seconds", Integer, nullable=False),
    Column("strategy", String(16), nullable=False),
    Column("hours", JSON, nullable=False),
    Column("time_zone", String(64), nullable=False),
    Column("start_at", UtcDateTime, nullable=False),
    Column("end_at", UtcDateTime, nullable=False),
    Column("frozen_at", UtcDateTime, nullable=False, index=True),
    Column("moves", Integer, nullable=False),
    Column("moved_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    info={PURGED: ("end_at",)},
)
# The leases of a request that was cut; a row stays when its lease is fixed, because the others still avoid that.
flexible_pieces = table(
    "flexible_pieces",
    Column("id", String(36), primary_key=True),
    Column("request_id", String(36), nullable=False, index=True),
    Column("latest", UtcDateTime, nullable=False),
    info={PURGED: ("latest",)},
)
_COLUMNS = flexible_leases.c
_MINE, _OTHER = flexible_pieces.alias("mine").c, flexible_pieces.alias("other").c
_OTHERS = select(_MINE.id.label("of"), _OTHER.id, leases.c.start_at, leases.c.end_at, leases.c.status).where(
    *(_OTHER.request_id == _MINE.request_id, _OTHER.id != _MINE.id, leases.c.id == _OTHER.id),
    *(leases.c.deleted_at.is_(None), leases.c.end_at > leases.c.start_at),
)


def _row(each: Flexible) -> Mapping[str, Any]:
    terms = each.terms
    return {
        "id": each.id,
        "project_id": each.project_id,
        "earliest": terms.earliest,
        "latest": terms.latest,
        "duration_seconds": terms.duration // _SECOND,
        "frozen_seconds": terms.frozen // _SECOND,
        "strategy": terms.strategy.value,
        "hours": list(terms.hours),
        "time_zone": terms.time_zone,
        "start_at": each.start_at,
        "end_at": each.window.end,
        "frozen_at": each.frozen_at,
        "moves": each.moves,
        "moved_at": each.moved_at,
        "created_at": each.created_at,
    }


def _terms(row: Row[Any]) -> Terms:
    return Terms(
        row.earliest,
        row.latest,
        row.duration_seconds * _SECOND,
        row.frozen_seconds * _SECOND,
        Strategy(row.strategy),
        tuple(row.hours),
        row.time_zone,
    )


ROWS = OwnedRows(
    flexible_leases,
    Flexible,
    converted={"terms": _terms, "others": lambda _: {}},
    stored=_row,
    there=(exists().where(leases.c.id == _COLUMNS.id, leases.c.deleted_at.is_(None)),),
)


def add_request(connection: Connection, found: Sequence[Flexible]) -> None:
    """Write the leases of one request."""
    connection.execute(insert(flexible_leases), [_row(each) for each in found])
    if len(found) > 1:
        rows = [{"id": each.id, "request_id": found[0].id, "latest": each.terms.latest} for each in found]
        connection.execute(insert(flexible_pieces), rows)


def with_others(connection: Connection, found: Sequence[Flexible]) -> Sequence[Flexible]:
    """Return flexible leases with the others of their requests."""
    others: dict[str, dict[str, Piece]] = {each.id: {} for each in found}
    for row in rows_among(connection, _OTHERS, _MINE.id, others):
        others[row.of][row.id] = Piece(row.id, Window(row.start_at, row.end_at), LeaseStatus(row.status))
    return [replace(each, others=others[each.id]) for each in found]


def may_become(
    connection: Connection, seen: Flexible, window: Window, moved: Mapping[str, Window] | None = None
) -> bool:
    """Say whether a lease, which is locked, has the terms that were seen, and no other of its request is in a window.

    Other leases are `moved` with it. What it says stays so until the commit.
    """
    query = select(flexible_leases).where(_COLUMNS.id == seen.id).with_for_update()
    if list(ROWS.read(connection.execute(query))) != [seen]:
        return False
    request = select(flexible_pieces.c.request_id).where(flexible_pieces.c.id == seen.id).scalar_subquery()
    query = select(flexible_pieces.c.id).where(flexible_pieces.c.request_id == request)
    connection.execute(query.order_by(flexible_pieces.c.id).with_for_update()).all()
    (now,) = with_others(connection, [seen])
    there = ((moved or {}).get(each.id, each.window) for each in now.others.values())
    return all(window.without(each) == [window] for each in there)


def save_flexible(connection: Connection, each: Flexible) -> None:
    """Write what changes of a flexible lease, whose lease is locked."""
    connection.execute(update(flexible_leases).where(_COLUMNS.id == each.id).values(**_row(each)))


def forget_flexible(connection: Connection, ident: str) -> None:
    """Remove the terms of a flexible lease, which stays where it is."""
    connection.execute(delete(flexible_leases).where(_COLUMNS.id == ident))


def movable(
    connection: Connection,
    settings: FlexibleSettings,
    now: datetime,
    *,
    most: int | None = None,
    within: tuple[str, Window] | None = None,
) -> Sequence[Flexible]:
    """Return the flexible leases that may be moved now: they rest from no move, and their owners have not fixed them.

    With a pool and a window `within` only those that have something of the pool, and those in the window first.
    """
    rested = or_(_COLUMNS.moved_at.is_(None), _COLUMNS.moved_at <= now - settings.rest)
    query = (
        select(flexible_leases)
        .join(leases, leases.c.id == _COLUMNS.id)
        .where(
            *(_COLUMNS.frozen_at > now, _COLUMNS.moves < settings.most_moves, rested),
            *(leases.c.status == LeaseStatus.PENDING, leases.c.deleted_at.is_(None)),
            *(leases.c.start_at == _COLUMNS.start_at, leases.c.end_at == _COLUMNS.end_at),
        )
    )
    if within is not None:
        pool, window = within
        there = (_COLUMNS.start_at < window.end) & (_COLUMNS.end_at > window.start)
        query = query.where(exists().where(allocations.c.lease_id == _COLUMNS.id, allocations.c.pool == pool))
        query = query.order_by(case((there, 0), else_=1))
    found = ROWS.read(connection.execute(query.order_by(_COLUMNS.frozen_at, _COLUMNS.id).limit(most)))
    return with_others(connection, found)
