"""Fillers and their hosts: one row for each, and the claim of the manager that is at work on a host."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, BigInteger, Column, Index, Integer, String, case, delete, func, insert, or_, select, update

from leasehold.db.owned import OwnedRows
from leasehold.db.resources.owners import Owner
from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime
from leasehold.features.filler.model import FilledHost, Filler
from leasehold.leasing.stay import Stay
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import datetime

    from sqlalchemy import Connection, Row, Select

fillers = table(
    "fillers",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("reservation", JSON, nullable=False),
    Column("request", JSON, nullable=False),
    Column("at_least_seconds", Integer, nullable=False),
    Column("ends_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime, index=True),
)
filled_hosts = table(
    "filled_hosts",
    Column("id", String(36), primary_key=True),
    Column("filler_id", String(36), nullable=False, index=True),
    Column("project_id", String(255), nullable=False),
    Column("resource_number", BigInteger, nullable=False),
    Column("granted_at", UtcDateTime, nullable=False),
    Column("told_until", UtcDateTime),
    Column("arrived_at", UtcDateTime),
    Column("told_at", UtcDateTime),
    Column("leaves_at", UtcDateTime),
    Column("reason", String(500)),
    Column("overdue_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("facts", JSON, nullable=False),
    Column("claimer", String(36)),
    Column("claim_until", UtcDateTime),
    Index(None, "ended_at", "resource_number"),
)

_STATE = case((fillers.c.ended_at.is_(None), "active"), else_="ended")
FILLERS = OwnedRows(fillers, Filler, {"state": _STATE})
_HERE = filled_hosts.c


def add_hosts(connection: Connection, hosts: Iterable[FilledHost]) -> None:
    """Write the hosts of a new filler."""
    connection.execute(insert(filled_hosts), [asdict(each) for each in hosts])


def hosts_of(connection: Connection, filler_ids: Collection[str]) -> dict[str, list[FilledHost]]:
    """Return the hosts of these fillers by filler, in the order of their numbers."""
    found: dict[str, list[FilledHost]] = {ident: [] for ident in filler_ids}
    query = select(filled_hosts).where(_HERE.filler_id.in_(filler_ids)).order_by(_HERE.resource_number, _HERE.id)
    for row in connection.execute(query):
        found[row.filler_id].append(_host(row))
    return found


def present_hosts(connection: Connection) -> list[FilledHost]:
    """Return the hosts that fillers have, those first that are to go soonest."""
    return _read(connection, select(filled_hosts).where(_HERE.ended_at.is_(None)).order_by(_HERE.leaves_at, _HERE.id))


def find_host(connection: Connection, ident: str, *, lock: bool = False) -> FilledHost | None:
    """Return a host of a filler that has not ended, with `lock` locked; None if there is none."""
    query = select(filled_hosts).where(_HERE.id == ident, _HERE.ended_at.is_(None))
    found = _read(connection, query.with_for_update() if lock else query)
    return found[0] if found else None


def count_hosts(connection: Connection, project_id: str) -> int:
    """Return how many hosts the fillers of a project have."""
    query = select(func.count()).where(_HERE.project_id == project_id, _HERE.ended_at.is_(None))
    return connection.execute(query.select_from(filled_hosts)).scalar_one()


def fillers_by_id(connection: Connection, ids: Collection[str]) -> Mapping[str, Filler]:
    """Return these fillers by id."""
    return {each.id: each for each in FILLERS.read(connection.execute(select(fillers).where(fillers.c.id.in_(ids))))}


def change_host(connection: Connection, ident: str, **values: Any) -> None:
    """Write what has become of a host of a filler."""
    connection.execute(update(filled_hosts).where(_HERE.id == ident).values(**values))


def end_if_empty(connection: Connection, filler_id: str, now: datetime) -> bool:
    """Record that a filler has ended if none of its hosts is left, and say whether it has."""
    left = select(_HERE.id).where(_HERE.filler_id == filler_id, _HERE.ended_at.is_(None)).exists()
    mine = (fillers.c.id == filler_id, fillers.c.ended_at.is_(None), ~left)
    return connection.execute(update(fillers).where(*mine).values(ended_at=now)).rowcount == 1


def claim_host(connection: Connection, ident: str, claimer: str, now: datetime, until: datetime) -> bool:
    """Claim a host for a manager until a moment, or for longer; say whether it is its own."""
    free = or_(_HERE.claimer.is_(None), _HERE.claimer == claimer, _HERE.claim_until < now)
    mine = (_HERE.id == ident, _HERE.ended_at.is_(None), free)
    change = update(filled_hosts).where(*mine).values(claimer=claimer, claim_until=until)
    return connection.execute(change).rowcount == 1


def release_host(connection: Connection, ident: str, claimer: str) -> None:
    """Give up the claim of a host."""
    mine = (_HERE.id == ident, _HERE.claimer == claimer)
    connection.execute(update(filled_hosts).where(*mine).values(claimer=None, claim_until=None))


def forget_host(connection: Connection, ident: str) -> None:
    """Remove a host of a filler, if it is there."""
    connection.execute(delete(filled_hosts).where(_HERE.id == ident))


def forget_fillers(connection: Connection, before: datetime) -> None:
    """Remove the fillers that ended before a moment."""
    old = list(connection.execute(select(fillers.c.id).where(fillers.c.ended_at < before)).scalars())
    if old:
        connection.execute(delete(filled_hosts).where(_HERE.filler_id.in_(old)))
        connection.execute(delete(fillers).where(fillers.c.id.in_(old)))


def owners(connection: Connection, ids: Collection[str]) -> Mapping[str, Owner]:
    """Return the fillers whose hosts these are, as the audit asks for the owners of what it finds in the cloud."""
    query = select(_HERE.id, _HERE.filler_id).where(_HERE.id.in_(ids), _HERE.ended_at.is_(None))
    return {row.id: Owner(row.filler_id, over=False) for row in connection.execute(query)}


def stays(connection: Connection, start: int, end: int) -> Iterator[Stay]:
    """Yield what fillers had of hosts in a window that is over: from when they could be used until they had to go."""
    left = func.coalesce(_HERE.ended_at, _HERE.leaves_at)
    mine = (_HERE.arrived_at < from_seconds(end), or_(left.is_(None), left > from_seconds(start)))
    query = select(filled_hosts, fillers.c.user_id, fillers.c.reservation)
    for row in connection.execute(query.join(fillers, fillers.c.id == _HERE.filler_id).where(*mine)):
        ends = [end, *(to_seconds(each) for each in (row.leaves_at, row.ended_at) if each is not None)]
        window = max(start, to_seconds(row.arrived_at)), min(ends)
        if window[0] < window[1]:
            whose = (row.id, row.filler_id, row.project_id, row.user_id, row.reservation["resource_type"])
            yield Stay(*whose, row.resource_number, row.granted_at, *window)


def _read(connection: Connection, query: Select[Any]) -> list[FilledHost]:
    return [_host(row) for row in connection.execute(query)]


_NAMES = [each.name for each in fields(FilledHost)]


def _host(row: Row[Any]) -> FilledHost:
    return FilledHost(**{name: getattr(row, name) for name in _NAMES})
