"""Allocations in the database, each with the pool's generation at its last change."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Update,
    and_,
    bindparam,
    case,
    false,
    insert,
    literal_column,
    null,
    or_,
    select,
    union_all,
    update,
)

from leasehold.db.dialects import IDS, among_few
from leasehold.db.segment import close_segments
from leasehold.db.tables import allocations, leases, reservations, resources
from leasehold.model.allocation import Allocation
from leasehold.model.segment import GIVEN_UP, Cause
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row

    from leasehold.db.together import Writer
    from leasehold.model.allocation import Pick

CHUNK = 20_000
LISTED = 2_000
"""Rows of a list that are read at a time: fewer, because several lists may be read at once and none is urgent."""
FEW = 8
"""Allocations that move by a statement for each, sent with other writes; more of them take one statement for all."""
_MOVE = update(allocations).where(allocations.c.id == bindparam("held"))
_MOVE = _MOVE.values(starts_at=bindparam("starts"), ends_at=bindparam("ends"), generation=bindparam("moved"))
_SHOWN = (
    allocations.c.id,
    allocations.c.resource_number,
    allocations.c.starts_at,
    allocations.c.ends_at,
    allocations.c.slots,
    allocations.c.demand,
    allocations.c.reservation_id,
    allocations.c.released_at.is_not(None).label("released"),
)
"""What a calendar knows of an allocation."""
_TOLD = tuple(each.name for each in _SHOWN[1:-1])
_CHANGED = select(*_SHOWN).where(allocations.c.pool == bindparam("pool"), allocations.c.generation > bindparam("since"))
_CURRENT = _CHANGED.where(
    or_(allocations.c.ends_at > bindparam("moment"), allocations.c.released_at.is_(None)),
).order_by(allocations.c.id)
_ZERO: ColumnElement[int] = literal_column("0")
_OF_RESOURCE: tuple[Any, ...] = (null(), resources.c.number, _ZERO, _ZERO, _ZERO, null(), literal_column("''"), false())
_NEWS = union_all(
    _CHANGED,
    select(*_OF_RESOURCE).where(resources.c.pool == bindparam("pool"), resources.c.generation > bindparam("since")),
)
_KNOWN_BY = ("reservation_id", "resource_number", "slots")
_KEEP = insert(allocations).returning(allocations.c.id, *(allocations.c[name] for name in _KNOWN_BY))

_UNRELEASED = select(allocations).where(
    allocations.c.resource_number.in_(bindparam("numbers", expanding=True)),
    allocations.c.released_at.is_(None),
    allocations.c.starts_at <= bindparam("moment"),
)

_MOMENT = bindparam("moment", type_=BigInteger)
_COMPUTED: Mapping[str, ColumnElement[int]] = {
    "ends_at": case(
        (allocations.c.ends_at <= _MOMENT, allocations.c.ends_at),
        (allocations.c.starts_at >= _MOMENT, allocations.c.starts_at),
        else_=_MOMENT,
    ),
    # A process older than the record may have vacated a host without recording it.
    "recorded_until": case((allocations.c.left_at.is_(None), _MOMENT), else_=allocations.c.recorded_until),
}
"""What allocations that end at a moment get."""

_MINE = allocations.alias("mine")
_WITH_NEIGHBOURS = union_all(
    select(allocations).where(among_few(allocations.c.lease_id)),
    select(allocations).where(
        allocations.c.resource_number.in_(
            select(_MINE.c.resource_number).where(among_few(_MINE.c.lease_id), _MINE.c.released_at.is_(None))
        ),
        ~among_few(allocations.c.lease_id),
        allocations.c.released_at.is_(None),
        allocations.c.starts_at <= bindparam("moment"),
    ),
)


def write_demand(demand: Mapping[str, int] | None) -> str | None:
    """Return the canonical JSON text of a demand, equal for equal demands; None for a whole resource."""
    return None if demand is None else json.dumps(dict(demand), sort_keys=True, separators=(",", ":"))


def read_demand(text: str | None) -> dict[str, int] | None:
    """Return the demand that `write_demand` wrote."""
    return None if text is None else json.loads(text)


def current_allocations(connection: Connection, pool: str, moment: datetime) -> Iterator[tuple[Sequence[Any], ...]]:
    """Yield the allocations of a pool as chunks of columns, without those released that ended before `moment`.

    Columns: id, resource number, start and end in seconds, slots, demand text, reservation id, released.
    """
    # Set the option on this statement only: on the connection, each later statement would get a server-side cursor.
    parameters = {"pool": pool, "since": -1, "moment": to_seconds(moment)}
    for rows in connection.execute(_CURRENT, parameters, execution_options={"yield_per": CHUNK}).partitions(CHUNK):
        yield tuple(zip(*rows, strict=True))


def changed_allocations(connection: Connection, pool: str, since: int) -> tuple[list[Row[Any]], bool]:
    """Return the allocations of a pool that changed after a generation, and whether resources of it did; one statement.

    The rows have the columns of `current_allocations`, in the order of their ids. These are few, and read while the
    pool is locked: on PostgreSQL a server-side cursor would cost more round trips.
    """
    rows = connection.execute(_NEWS, {"pool": pool, "since": since}).all()
    changed = sorted((row for row in rows if row.id is not None), key=attrgetter("id"))
    return changed, len(changed) < len(rows)


def as_allocation(row: Row[Any]) -> Allocation:
    """Return a row of the allocations table as an `Allocation`."""
    return Allocation(
        id=row.id,
        reservation_id=row.reservation_id,
        lease_id=row.lease_id,
        pool=row.pool,
        resource_number=row.resource_number,
        window=Window.of_seconds(row.starts_at, max(row.starts_at, row.ends_at)),
        slots=row.slots,
        demand=read_demand(row.demand),
        released_at=row.released_at,
        left_at=row.left_at,
        substitute=bool(row.substitute),
        recorded_until=None if row.recorded_until is None else from_seconds(row.recorded_until),
        given_up=row.left_at is not None and row.start_cause in GIVEN_UP,
        lent=row.left_at is not None and row.start_cause == Cause.LENT,
    )


@dataclass(frozen=True, slots=True)
class Grant:
    """A new allocation: a reservation of a lease gets `pick` of a pool for a window.

    `generation` is the pool's after the decision. `substitute` says that healing chose it for an active reservation;
    with `left_at` it is vacated since then.
    """

    pool: str
    generation: int
    lease_id: str
    reservation_id: str
    window: Window
    pick: Pick
    substitute: bool = False
    left_at: datetime | None = None


def insert_allocations(connection: Connection, grants: Iterable[Grant], cause: Cause) -> list[tuple[Any, ...]]:
    """Write new allocations, of any leases and pools, in one statement; their segments begin for this cause.

    Returns each row's pool and then the columns of `current_allocations`, in any order. The database tells little more
    than the ids that it gave: a driver in Python takes longer to read a column than to write it.
    """
    granted = [(grant, *grant.window.seconds) for grant in grants]
    marked = any(grant.substitute or grant.left_at for grant, *_ in granted)
    rows = [
        {
            "pool": grant.pool,
            "reservation_id": grant.reservation_id,
            "lease_id": grant.lease_id,
            "resource_number": grant.pick.resource_number,
            "starts_at": start,
            "ends_at": end,
            "slots": grant.pick.slots,
            "demand": write_demand(grant.pick.demand),
            "generation": grant.generation,
            # Only healing writes these columns.
            **({"substitute": grant.substitute, "left_at": grant.left_at} if marked else {}),
            "start_cause": cause,
        }
        for grant, start, end in granted
    ]
    if not rows:
        return []
    # A reservation may get as much of a resource twice, once vacated: a calendar does not tell the two apart.
    told = {tuple(row[name] for name in _KNOWN_BY): [row[name] for name in _TOLD] for row in rows}
    pools = {row["reservation_id"]: row["pool"] for row in rows}
    # None is released.
    return [(pools[key[0]], ident, *told[tuple(key)], False) for ident, *key in connection.execute(_KEEP, rows)]


@dataclass(frozen=True, slots=True)
class Shift:
    """Allocations of a pool that get another window; if they have begun, a segment ends there for this cause."""

    pool: str
    held: Sequence[Allocation]
    window: Window
    cause: Cause


def move_allocations(connection: Connection, shift: Shift, generation: int, now: datetime, writes: Writer) -> None:
    """Give allocations another window; those that have not begun get it by `writes`, with what else is written there.

    For one that has begun, the next segment begins now.
    """
    start, end = shift.window.seconds
    changed = [each for each in shift.held if each.left_at is None and each.window.seconds != (start, end)]
    begun = [each for each in changed if to_seconds(each.window.start) < to_seconds(now)]
    moment = close_segments(connection, begun, now, shift.cause)
    values: dict[str, Any] = {"starts_at": start, "ends_at": end, "generation": generation}
    _update(connection, begun, {**values, "recorded_until": moment, "start_cause": shift.cause})
    ahead = [each for each in shift.held if each not in begun]
    if len(ahead) > FEW:
        _update(connection, ahead, values)
    elif ahead:
        writes.execute(_MOVE, [{"starts": start, "ends": end, "moved": generation, "held": each.id} for each in ahead])


def end_allocations(
    connection: Connection,
    held: Collection[Allocation],
    generation: int,
    now: datetime,
    cause: Cause,
    *,
    released: bool,
    left: bool = False,
) -> None:
    """End allocations now: one that has not begun becomes empty, a running one stops at `now` for this cause.

    `released` says that the resource was never used or is clean, so no other lease has to wait for it; `left` that the
    reservation vacated it, for this cause.
    """
    moment = close_segments(connection, held, now, cause)
    values: dict[str, Any] = {"generation": generation, "released_at": now} if released else {"generation": generation}
    if left:
        # MariaDB would take the new left_at for the old one in `_COMPUTED`. None of them was vacated before.
        values |= {**_vacated(now, cause), "recorded_until": moment}
    computed = ("ends_at",) if left else ("ends_at", "recorded_until")
    _update(connection, held, values, computed, moment)


def leave_allocations(
    connection: Connection, held: Collection[Allocation], generation: int, now: datetime, cause: Cause
) -> None:
    """Mark allocations as vacated for this cause; until they are released, no other lease gets their resources."""
    moment = close_segments(connection, held, now, cause)
    _update(connection, held, {**_vacated(now, cause), "generation": generation, "recorded_until": moment})


def _vacated(now: datetime, cause: Cause) -> dict[str, Any]:
    """Return the values of a vacated allocation: no segment follows, so `start_cause` says why it was vacated."""
    return {"left_at": now, "start_cause": cause}


def _update(
    connection: Connection,
    held: Collection[Allocation],
    values: Mapping[str, Any],
    computed: tuple[str, ...] = (),
    moment: int = 0,
) -> None:
    """Give allocations these values, and in these columns what the database computes for this moment."""
    if held:
        given = {f"new_{name}": value for name, value in values.items()}
        parameters = {**given, "held": [each.id for each in held], **({"moment": moment} if computed else {})}
        connection.execute(_updating(tuple(values), computed), parameters)


@lru_cache
def _updating(names: tuple[str, ...], computed: tuple[str, ...]) -> Update:
    values = {**{name: bindparam(f"new_{name}") for name in names}, **{name: _COMPUTED[name] for name in computed}}
    return update(allocations).where(allocations.c.id.in_(bindparam("held", expanding=True))).values(values)


def unreleased_on(connection: Connection, numbers: Collection[int], now: datetime) -> list[Allocation]:
    """Return the allocations on these resources that have begun and are not released, whether ended or not."""
    parameters = {"numbers": list(numbers), "moment": to_seconds(now)}
    return [as_allocation(row) for row in connection.execute(_UNRELEASED, parameters)]


def with_neighbours(
    connection: Connection, lease_ids: Sequence[str], now: datetime
) -> tuple[list[Allocation], list[Allocation]]:
    """Return the allocations of leases by id, and what `unreleased_on` finds on the resources of any of them."""
    rows = connection.execute(_WITH_NEIGHBOURS, {IDS: lease_ids, "moment": to_seconds(now)})
    found = sorted(map(as_allocation, rows), key=attrgetter("id"))
    mine = frozenset(lease_ids)
    begun = [each for each in found if each.released_at is None and each.window.seconds[0] <= to_seconds(now)]
    return [each for each in found if each.lease_id in mine], begun


def in_use(connection: Connection, number: int, now: datetime) -> bool:
    """Say whether a resource is allocated now or later, or not yet released."""
    ahead = and_(allocations.c.ends_at > to_seconds(now), allocations.c.ends_at > allocations.c.starts_at)
    # An allocation that ended in the second in which it began is empty, but may still have servers to remove.
    live = or_(ahead, allocations.c.released_at.is_(None))
    query = select(allocations.c.id).where(allocations.c.resource_number == number, live).limit(1)
    return connection.execute(query).first() is not None


def each_allocation(
    connection: Connection,
    pools: Collection[str],
    *,
    lease_id: str | None,
    reservation_id: str | None,
    since: datetime,
    within: tuple[int, int] | None = None,
) -> Iterator[tuple[int, list[Allocation]]]:
    """Yield the allocations of existing leases by resource number, in the order of their start, with the lease's dates.

    With `within`, only those of the resources from one number to another. Without a lease and a reservation, only
    those that end at `since` or later (contract http-api §6.1). Released allocations and those of ended leases are left
    out (contract resources §2, "Effects"). Rows are read as the caller takes them, `LISTED` at a time.
    """
    query = (
        select(allocations, leases.c.start_at, leases.c.end_at)
        .join(leases, leases.c.id == allocations.c.lease_id)
        .where(
            allocations.c.pool.in_(pools),
            allocations.c.ends_at > allocations.c.starts_at,
            allocations.c.released_at.is_(None),
            leases.c.deleted_at.is_(None),
            leases.c.status != LeaseStatus.TERMINATED,
        )
    )
    if within is not None:
        query = query.where(allocations.c.resource_number.between(*within))
    if lease_id is not None:
        query = query.where(allocations.c.lease_id == lease_id)
    if reservation_id is not None:
        query = query.where(allocations.c.reservation_id == reservation_id)
    if lease_id is None and reservation_id is None:
        query = query.where(allocations.c.ends_at >= to_seconds(since))
    ordered = query.order_by(allocations.c.resource_number, allocations.c.starts_at, allocations.c.id)
    # Set the option on this statement only: on the connection, each later statement would get a server-side cursor.
    rows = connection.execute(ordered, execution_options={"yield_per": LISTED})
    for each, held in groupby(rows, attrgetter("resource_number")):
        yield each, [replace(as_allocation(row), window=Window(row.start_at, row.end_at)) for row in held]


def held_on(connection: Connection, numbers: Collection[int], now: datetime) -> list[Allocation]:
    """Return what is allocated on these resources now or later and not released, vacated or not, oldest first."""
    query = select(allocations).where(
        allocations.c.resource_number.in_(numbers),
        allocations.c.ends_at > to_seconds(now),
        allocations.c.ends_at > allocations.c.starts_at,
        allocations.c.released_at.is_(None),
    )
    return [as_allocation(row) for row in connection.execute(query.order_by(allocations.c.id))]


def leases_on(
    connection: Connection, numbers: Collection[int], now: datetime, until: datetime | None
) -> dict[str, int]:
    """Return the leases that have one of these resources between now and `until` (None: at any time), soonest first.

    Each with the beginning of the first such allocation, in seconds since the epoch.
    """
    query = select(allocations.c.lease_id, allocations.c.starts_at).where(
        allocations.c.resource_number.in_(numbers),
        allocations.c.ends_at > to_seconds(now),
        allocations.c.ends_at > allocations.c.starts_at,
        allocations.c.released_at.is_(None),
        allocations.c.left_at.is_(None),
    )
    if until is not None:
        query = query.where(allocations.c.starts_at < to_seconds(until))
    found: dict[str, int] = {}
    for lease_id, start in connection.execute(query.order_by(allocations.c.starts_at, allocations.c.id)):
        found.setdefault(lease_id, start)
    return found


def stored_requests_on(
    connection: Connection, numbers: Collection[int], now: datetime
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return type and request of the reservations that have one of these resources now or later, by their id."""
    query = (
        select(reservations.c.id, reservations.c.resource_type, reservations.c.request)
        .join(allocations, allocations.c.reservation_id == reservations.c.id)
        .where(allocations.c.resource_number.in_(numbers), allocations.c.ends_at > to_seconds(now))
        .where(allocations.c.ends_at > allocations.c.starts_at)
    )
    return {row.id: (row.resource_type, row.request) for row in connection.execute(query)}
