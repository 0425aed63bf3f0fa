"""The record of usage: what was promised and not delivered or given up, and what was used (decision 0150).

It stands beside the segments, which say what was held, and outlives its leases as they do. All moments are whole
seconds since the epoch, and all spans are half-open. No foreign keys: a row may outlive what it is about.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    String,
    UniqueConstraint,
    bindparam,
    case,
    insert,
    literal,
    select,
    union_all,
    update,
)

from leasehold.db.columns.lasting import lasting
from leasehold.db.dialects import rows_among
from leasehold.db.store import GenerationRaceError
from leasehold.db.tables import RECORD, allocations, leases, table
from leasehold.db.types import COUNTED, BigKey
from leasehold.features.usage.model import Loss, Terms, Use

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, CompoundSelect, Connection, Row, Select, Table, Update

    from leasehold.features.usage.model import LostSpan


def _owner() -> tuple[Column[Any], ...]:
    """Return the columns that say whose a row is, as `segments` has them."""
    return (
        Column("lease_id", String(36), nullable=False),
        Column("reservation_id", String(36), nullable=False),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("resource_type", String(66), nullable=False),
    )


# What the follower last knew of each reservation. `amount` is what was promised, in the unit of the request, and
# `missing` how much of it is; `delivered_at` is NULL until its start is done, `over_at` until it ends, and then
# `ends_at` is no later. What is late or missing since `told_at` is not in `usage_losses` yet (`losses_until`).
usage_terms = table(
    "usage_terms",
    Column("reservation_id", String(36), primary_key=True),
    Column("lease_id", String(36), nullable=False, index=True),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("resource_type", String(66), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("missing", BigInteger, nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False),
    Column("delivered_at", BigInteger),
    Column("told_at", BigInteger, nullable=False),
    Column("over_at", BigInteger),
    Column("lender_project_id", String(255), index=True),
    Column("unused", Integer, server_default="1"),
    Index(None, "over_at", "project_id"),
    Index(None, "unused", "over_at"),
    info={RECORD: "over_at"},
)

PENDING: Final = 1
"""`usage_terms.unused`: nothing was ever found in use, and no sum of a day has that. NULL: something was."""
SUMMED: Final = 2
"""`usage_terms.unused`: it is over, nothing was ever found in use, and `usage_days.no_show` has all of it."""

# Closed spans, which never change: `state` is one of `Loss`. One that is given up may lie ahead.
usage_losses = table(
    "usage_losses",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    *_owner(),
    Column("state", String(16), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False, index=True),
    lasting(),
    Index(None, "project_id", "ends_at"),
    Index(None, "reservation_id"),
    Index(None, "state", "lasts", "starts_at", "ends_at"),
    info={RECORD: "ends_at"},
    **COUNTED,
)

# Spans in which each poll has found at least `amount` in use, from the first of them to the last. One of a single poll
# is empty: something ran, and nobody knows how long. `seen_at` is the last poll, and NULL once the span cannot go on.
usage_uses = table(
    "usage_uses",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    *_owner(),
    Column("resource_number", BigInteger, nullable=False),
    Column("resource", String(255), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False, index=True),
    Column("seen_at", BigInteger, index=True),
    lasting(),
    Index(None, "reservation_id"),
    Index(None, "project_id", "ends_at"),
    Index(None, "resource_type", "lasts", "starts_at", "ends_at"),
    info={RECORD: "ends_at"},
    **COUNTED,
)

SUMS: Final = ("held", "late", "missing", "given_up", "used", "watched", "no_show", "lent")
"""The columns of `usage_days`: seconds times amounts."""

# Sums of whole days of UTC, which begin at `day`. `lent` is in rows of the lender's project, of no user. What was
# `watched` is active time in which somebody looked. `no_show` is of reservations that are `SUMMED`, and grows; all else
# never changes. A day is purged as soon as a part of it is, and then read from the spans that are left.
usage_days = table(
    "usage_days",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("day", BigInteger, nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("resource_type", String(66), nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in SUMS),
    UniqueConstraint("day", "project_id", "user_id", "resource_type"),
    info={RECORD: "day"},
    **COUNTED,
)

# How far the record has come, by what makes it: `EVENTS` with the position in the event log, and a row for each
# resource type that is polled with the moment of the last poll. It is complete from the moment `since` on. Nothing
# before the moment of `CLOSED` is written any more, and the days before that of `DAYS` are summed.
usage_cursor = table(
    "usage_cursor",
    Column("name", String(80), primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
)

_OWNER = ("lease_id", "reservation_id", "project_id", "user_id", "resource_type")
EVENTS = "events"
"""The name of the follower's cursor."""
CLOSED = "closed"
DAYS = "days"


def poll_of(resource_type: str) -> str:
    """Return the name of the cursor of a resource type's polls."""
    return f"poll:{resource_type}"


@dataclass(frozen=True, slots=True)
class Progress:
    """A row of `usage_cursor`."""

    name: str
    since: int
    position: int


def find_progress(connection: Connection, name: str, *, lock: bool = False) -> Progress | None:
    """Return how far something has come, None before its first step; `lock` keeps others from going on meanwhile."""
    query = select(usage_cursor).where(usage_cursor.c.name == name)
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None else Progress(row.name, row.since, row.position)


def all_progress(connection: Connection) -> dict[str, Progress]:
    """Return how far all has come, by name, and keep all from going on until the end of the transaction."""
    rows = connection.execute(select(usage_cursor).order_by(usage_cursor.c.name).with_for_update())
    return {row.name: Progress(row.name, row.since, row.position) for row in rows}


def closed_until(connection: Connection) -> int:
    """Return the moment before which nothing may be written any more: the sums of days have it, or soon will."""
    closed = find_progress(connection, CLOSED)
    return 0 if closed is None else closed.position


def save_progress(connection: Connection, before: Progress | None, after: Progress) -> None:
    """Write how far something has come.

    Raises GenerationRaceError, or IntegrityError for a first step, when another process has gone on meanwhile.
    """
    if before is None:
        connection.execute(insert(usage_cursor), asdict(after))
        return
    mine = (usage_cursor.c.name == before.name, usage_cursor.c.position == before.position)
    if connection.execute(update(usage_cursor).where(*mine).values(position=after.position)).rowcount != 1:
        message = "Another process went on with the record of usage at the same time."
        raise GenerationRaceError(message)


# ---------------------------------------------------------------- promises, and what was lost of them

_TERMS = tuple(each.name for each in fields(Terms))


def terms_of(connection: Connection, lease_ids: Collection[str]) -> dict[str, Terms]:
    """Return what is known of the reservations of these leases, by their ids."""
    rows = connection.execute(select(usage_terms).where(usage_terms.c.lease_id.in_(lease_ids)))
    return {row.reservation_id: Terms(**{name: getattr(row, name) for name in _TERMS}) for row in rows}


def save_terms(connection: Connection, before: Mapping[str, Terms], after: Mapping[str, Terms]) -> None:
    """Write what has become known of reservations since `before`."""
    fresh = [each for ident, each in after.items() if ident not in before]
    used = used_among(connection, [each.reservation_id for each in fresh])
    new = [{**asdict(each), "unused": None if each.reservation_id in used else PENDING} for each in fresh]
    changed = [asdict(each) for ident, each in after.items() if ident in before and each != before[ident]]
    if new:
        connection.execute(insert(usage_terms), new)
    if changed:
        connection.execute(_SAVE_TERMS, [{**row, "key": row["reservation_id"]} for row in changed])


def _saving(changes: Table, key: Column[Any], names: Iterable[str]) -> Update:
    return update(changes).where(key == bindparam("key")).values({name: bindparam(name) for name in names})


_SAVE_TERMS = _saving(usage_terms, usage_terms.c.reservation_id, _TERMS[1:])


def add_losses(connection: Connection, lost: Iterable[tuple[Terms, LostSpan]]) -> None:
    """Write spans that are closed, each of the reservation that is known so."""
    rows = [{**{name: getattr(terms, name) for name in _OWNER}, **asdict(span)} for terms, span in lost]
    if rows:
        connection.execute(insert(usage_losses), rows)


def held_by(connection: Connection, reservation_ids: Collection[str]) -> Mapping[str, Sequence[Row[Any]]]:
    """Return the allocations of reservations: their start, end, slots, and when they were left."""
    columns = (allocations.c[name] for name in ("reservation_id", "starts_at", "ends_at", "slots", "left_at"))
    found: dict[str, list[Row[Any]]] = {ident: [] for ident in reservation_ids}
    for row in connection.execute(select(*columns).where(allocations.c.reservation_id.in_(reservation_ids))):
        found[row.reservation_id].append(row)
    return found


def projects_of(connection: Connection, lease_ids: Collection[str]) -> dict[str, str]:
    """Return the projects of leases by their ids, also of deleted ones; a purged one is missing."""
    query = select(leases.c.id, leases.c.project_id).where(leases.c.id.in_(lease_ids))
    return {row.id: row.project_id for row in connection.execute(query)}


# ---------------------------------------------------------------- what was used

_USE = tuple(each.name for each in fields(Use))


def open_uses(connection: Connection, resource_type: str) -> dict[tuple[str, int], Use]:
    """Return the spans of a resource type that may go on, by reservation and number of the resource."""
    which = (usage_uses.c.resource_type == resource_type, usage_uses.c.seen_at.is_not(None))
    rows = connection.execute(select(usage_uses).where(*which))
    return {
        (row.reservation_id, row.resource_number): Use(**{name: getattr(row, name) for name in _USE}) for row in rows
    }


def save_uses(connection: Connection, uses: Iterable[Use], new: Sequence[Mapping[str, Any]]) -> None:
    """Write spans that are longer or closed now, and the rows of new ones."""
    rows = [{"key": each.id, "ends_at": each.ends_at, "seen_at": each.seen_at} for each in uses]
    if rows:
        connection.execute(_SAVE_USE, rows)
    if new:
        connection.execute(insert(usage_uses), list(new))
        _note_used(connection, {row["reservation_id"] for row in new})


def used_among(connection: Connection, reservation_ids: Collection[str]) -> set[str]:
    """Return those of some reservations of which something was found in use, as far as the record goes back."""
    query = select(usage_uses.c.reservation_id).distinct()
    return {row.reservation_id for row in rows_among(connection, query, query.selected_columns[0], reservation_ids)}


def _note_used(connection: Connection, reservation_ids: Collection[str]) -> None:
    which = (usage_terms.c.reservation_id == bindparam("key"), usage_terms.c.unused == PENDING)
    rows = [{"key": each} for each in sorted(reservation_ids)]
    connection.execute(update(usage_terms).where(*which).values(unused=None), rows)


_SAVE_USE = _saving(usage_uses, usage_uses.c.id, ("ends_at", "seen_at"))

# ---------------------------------------------------------------- for reports

_OPEN = usage_terms.c
_SPAN = (*_OWNER, "state", "amount", "starts_at", "ends_at")


def losses_until(now: int) -> CompoundSelect[Any]:
    """Select all losses up to a moment: the closed ones, and what has been late or missing since then.

    The columns are those of `usage_losses` without `id`. A closed one that is given up may reach beyond the moment.
    """
    return union_all(select(*(usage_losses.c[name] for name in _SPAN)), *losses_since(now))


def losses_since(now: int) -> tuple[Select[Any], Select[Any]]:
    """Select what has been late, and what has been missing, since the closed losses, as rows of `usage_losses`."""
    begin = case((_OPEN.told_at > _OPEN.starts_at, _OPEN.told_at), else_=_OPEN.starts_at)
    end = case((_OPEN.ends_at < now, _OPEN.ends_at), else_=now)

    def since(state: Loss, amount: ColumnElement[int], *which: ColumnElement[bool]) -> Any:
        columns = (
            *(_OPEN[name] for name in _OWNER),
            *(literal(state.value).label("state"), amount.label("amount")),
            *(begin.label("starts_at"), end.label("ends_at")),
        )
        return select(*columns).where(_OPEN.over_at.is_(None), begin < end, amount > 0, *which)

    return (
        since(Loss.LATE, _OPEN.amount - _OPEN.missing, _OPEN.delivered_at.is_(None)),
        since(Loss.MISSING, _OPEN.missing),
    )
