"""Lists of leases: a part of those that there are, sorted, with their parts."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict, Unpack

from sqlalchemy import and_, exists, or_, select

from leasehold.db.columns.lease_columns import LEASE, read_lease, selected
from leasehold.db.dialects import IDS, AmongIds, WhereNull
from leasehold.db.leases.lease_parts import whole_lease, with_parts
from leasehold.db.tables import leases, outbox, reservations
from leasehold.model.lease_filter import EVERY_LEASE
from leasehold.model.paging import OLDEST_FIRST
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Column, ColumnElement, Connection, Select

    from leasehold.db.leases.lease_parts import Found
    from leasehold.model.lease import EventFields, Lease
    from leasehold.model.lease_filter import LeaseFilter
    from leasehold.model.paging import Sort

CHUNK = 1_000
"""How many leases of a long list are in memory at a time."""
State: TypeAlias = "tuple[str, int, datetime | None]"
"""The id of a lease, its generation, and when it changed: what is shown of it depends on nothing else."""

_SORTS: Mapping[str, Column[Any]] = {  # the keys of LEASE_SORTS, and that of offers
    "created_at": leases.c.created_at,
    "start_date": leases.c.start_at,
    "end_date": leases.c.end_at,
    "name": leases.c.name,
    "status": leases.c.status,
    "expires_at": leases.c.offered_until,
}
# An event tells of every lease, and of no offer that was not accepted.
_WAS_LEASE = and_(
    leases.c.deleted_at.is_not(None),
    or_(leases.c.offered_until.is_(None), exists().where(outbox.c.lease_id == leases.c.id)),
)
_LEASE = selected(leases, LEASE)
_AMONG = select(*_LEASE).where(AmongIds(leases.c.id))
_STATE = (leases.c.id, leases.c.generation, leases.c.updated_at)


class Texts(Protocol):
    """What was made of leases to show them."""

    def get(self, state: State) -> bytes | None: ...

    def keep(self, state: State, text: bytes, many: int) -> None: ...


def place_of(
    connection: Connection, project_id: str | None, lease_id: str, sort: Sort = OLDEST_FIRST
) -> tuple[Any, str] | None:
    """Return the position of a lease in the list, also of a deleted one; None: it never was in this list."""
    query = select(_SORTS[sort.key], leases.c.id).where(leases.c.id == lease_id)
    if project_id is not None:
        query = query.where(leases.c.project_id == project_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else (row[0], row.id)


class ListPart(TypedDict, total=False):
    """Which part of a list of leases is wanted: see `each_lease`."""

    after: tuple[Any, str] | None
    limit: int | None
    resource_type: str | None
    wanted: LeaseFilter
    sort: Sort
    offered: bool


def each_lease(connection: Connection, project_id: str | None, **part: Unpack[ListPart]) -> Iterator[Lease]:
    """Yield the leases that are not deleted, of one project or of all, as sorted; holds `CHUNK` of them at most.

    With `after`, what `place_of` returns, only those that follow this position, and no more than `limit`; with
    `resource_type`, only those with a reservation of this type, and only those that are `wanted`. Offers that nobody
    has accepted are left out; with `offered` only they are yielded. Deleted leases are yielded only if they are
    `wanted`, and then only they, without offers that have lapsed. Their allocations are left out: a list never shows
    them, and they may be most of the database. Takes two statements for each chunk, or three. The transaction has to
    see one snapshot.
    """
    sort, left = part.get("sort", OLDEST_FIRST), part.get("limit")
    query = _wanted_leases(project_id, **part).with_only_columns(*_LEASE)
    while left != 0:
        rows = connection.execute(query.limit(CHUNK if left is None else min(CHUNK, left))).all()
        yield from starmap(whole_lease, with_parts(connection, rows, [row.id for row in rows])) if rows else ()
        if len(rows) < CHUNK:
            return
        left = None if left is None else left - len(rows)
        query = query.where(_follows(sort, getattr(rows[-1], _SORTS[sort.key].name), rows[-1].id))


def leases_of(connection: Connection, wanted: Select[Any]) -> Iterator[Lease]:
    """Yield the leases of these ids, in their order, as `each_lease` does; deleted ones and offers too."""
    left = [ident for (ident,) in connection.execute(wanted).all()]
    for begin in range(0, len(left), CHUNK):
        yield from starmap(whole_lease, _read(connection, left[begin : begin + CHUNK]))


def each_text(
    connection: Connection,
    project_id: str | None,
    texts: Texts,
    show: Callable[[Lease, Sequence[EventFields]], bytes],
    **part: Unpack[ListPart],
) -> Iterator[bytes]:
    """Yield what `show` makes of each lease that `each_lease` yields, without its events, and their fields beside it.

    Of a lease whose text is kept for the state that it has, only the state is read. This is for lists that only show
    events: most objects of a long list are events, which come in any order.
    """
    query = _wanted_leases(project_id, **part).with_only_columns(*_STATE)
    left: list[State] = [(row.id, row.generation, row.updated_at) for row in connection.execute(query)]
    for begin in range(0, len(left), CHUNK):
        some = left[begin : begin + CHUNK]
        found = {state: text for state in some if (text := texts.get(state)) is not None}
        new = {state[0]: state for state in some if state not in found}
        for row, parts, moments in _read(connection, list(new)) if new else ():
            state = new[row[0]]
            text = found[state] = show(read_lease(row, parts, ()), moments)
            texts.keep(state, text, len(left))
        yield from map(found.__getitem__, some)


def _read(connection: Connection, ids: Sequence[str]) -> list[Found]:
    """Return leases in the order of these ids, which are known: no database sorts whole rows for it."""
    found = {row[0]: row for row in connection.execute(_AMONG, {IDS: ids}).all()}
    return with_parts(connection, [found[ident] for ident in ids], ids)


def _wanted_leases(
    project_id: str | None,
    *,
    after: tuple[Any, str] | None = None,
    limit: int | None = None,
    resource_type: str | None = None,
    wanted: LeaseFilter = EVERY_LEASE,
    sort: Sort = OLDEST_FIRST,
    offered: bool = False,
) -> Select[Any]:
    """Return the query for the ids of a list: see `each_lease`."""
    query = select(leases.c.id).where(_WAS_LEASE if wanted.deleted else leases.c.deleted_at.is_(None))
    query = query.where(*_among(project_id, resource_type, offered=offered), *_wanted(wanted))
    if after is not None:
        query = query.where(_follows(sort, *after))
    first = () if wanted.deleted else (WhereNull(leases.c.deleted_at),)
    key = _SORTS[sort.key].desc() if sort.descending else _SORTS[sort.key]
    return query.order_by(*first, key, leases.c.id).limit(limit)


def _among(project_id: str | None, resource_type: str | None, *, offered: bool) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a list: see `each_lease`."""
    is_offer = leases.c.status == LeaseStatus.OFFERED
    yield is_offer if offered else ~is_offer
    if project_id is not None:
        yield leases.c.project_id == project_id
    if resource_type is not None:
        of_type = select(reservations.c.lease_id).where(reservations.c.resource_type == resource_type)
        yield leases.c.id.in_(of_type)


def _wanted(wanted: LeaseFilter) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a filter."""
    if wanted.user_id is not None:
        yield leases.c.user_id == wanted.user_id
    if wanted.name is not None:
        yield leases.c.name == wanted.name
    if wanted.purpose is not None:
        yield leases.c.purpose == wanted.purpose
    if wanted.statuses:
        yield leases.c.status.in_(sorted(wanted.statuses))
    if wanted.ends_after is not None:
        yield leases.c.end_at > wanted.ends_after
    if wanted.starts_before is not None:
        yield leases.c.start_at < wanted.starts_before
    if wanted.lapses_after is not None:
        yield leases.c.offered_until > wanted.lapses_after


def _follows(sort: Sort, value: Any, last: str) -> ColumnElement[bool]:
    """Return the condition that a lease comes after this position in the list."""
    column = _SORTS[sort.key]
    from_here = column <= value if sort.descending else column >= value
    # Beside the OR, so that an index is read from here on, and not from its first row.
    return and_(from_here, or_(column != value, leases.c.id > last))
