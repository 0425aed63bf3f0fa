"""Leases in the database, with their reservations, allocations and events."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import and_, bindparam, insert, or_, select, update

from leasehold.db.allocation import as_allocation
from leasehold.db.ending import read_ending, write_ending
from leasehold.db.no_show import read_no_show, write_no_show
from leasehold.db.reminder import write_reminders
from leasehold.db.tables import allocations, events, leases, reservations
from leasehold.db.waiting import read_waiting, write_waiting
from leasehold.model.heal_policy import HealPolicy
from leasehold.model.lease import Event, Lease
from leasehold.model.lease_filter import EVERY_LEASE
from leasehold.model.lease_type import LeaseType
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, LeaseStatus, ReservationStatus
from leasehold.model.transitions import check
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Table, Update

    from leasehold.model.allocation import Allocation
    from leasehold.model.lease_filter import LeaseFilter

CHUNK = 1_000
"""How many leases of a long list are in memory at a time."""
MANY = 500
"""The parts of more leases than this are fetched by the same condition instead of by a list of ids."""

LONGEST_REASON = 4_000
"""In characters; MariaDB refuses texts of more than 64 KiB, and a reason may name thousands of hosts."""

Part = TypeVar("Part", Reservation, Event)
"""What a lease consists of."""

_PARTS: tuple[tuple[Select[Any], Column[Any]], ...] = (
    (select(reservations).order_by(reservations.c.lease_id, reservations.c.position), reservations.c.lease_id),
    (select(events).order_by(events.c.lease_id, events.c.time), events.c.lease_id),
    (select(allocations).order_by(allocations.c.reservation_id, allocations.c.id), allocations.c.lease_id),
)
_PARTS_BY_ID = tuple(query.where(column.in_(bindparam("ids", expanding=True))) for query, column in _PARTS)
_PLACE = (leases.c.created_at, leases.c.id)
_WITH_ALLOCATIONS, _WITHOUT_ALLOCATIONS = slice(None), slice(2)
_ONE = select(leases).where(leases.c.id == bindparam("lease_id"))
_ONE_LOCKED = _ONE.with_for_update()
_GENERATION = select(leases.c.generation).where(leases.c.id == bindparam("lease_id")).with_for_update()


def insert_lease(connection: Connection, lease: Lease) -> None:
    """Write a new lease with its reservations and events: three statements, however many parts."""
    row = {} if lease.type is LeaseType.SCHEDULED else {"type": lease.type, **write_waiting(lease)}
    if lease.reminders is not None:
        row |= write_reminders(lease)
    connection.execute(
        insert(leases),
        {
            **row,
            "id": lease.id,
            "name": lease.name,
            "user_id": lease.user_id,
            "project_id": lease.project_id,
            "start_at": lease.window.start,
            "end_at": lease.window.end,
            "status": lease.status,
            "status_reason": lease.status_reason,
            "degraded": lease.degraded,
            "generation": lease.generation,
            "created_at": lease.created_at,
            "updated_at": lease.updated_at,
            "heal_policy": lease.heal_policy,
            "reminded": lease.reminded,
        },
    )
    if lease.reservations:
        rows = [_reservation_row(part, position) for position, part in enumerate(lease.reservations)]
        connection.execute(insert(reservations), rows)
    if lease.events:
        connection.execute(insert(events), [_event_row(event) for event in lease.events])


def _reservation_row(reservation: Reservation, position: int) -> dict[str, Any]:
    return {
        "id": reservation.id,
        "lease_id": reservation.lease_id,
        "position": position,
        "resource_type": reservation.resource_type,
        "resource_id": reservation.resource_id,
        "request": dict(reservation.request),
        "status": reservation.status,
        "missing_resources": reservation.missing_resources,
        "resources_changed": reservation.resources_changed,
        "missing": reservation.missing,
        "cloud": dict(reservation.cloud),
        "ending": write_ending(reservation.ending),
        "no_show": write_no_show(reservation.no_show),
        "created_at": reservation.created_at,
        "updated_at": reservation.updated_at,
    }


def _event_row(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "lease_id": event.lease_id,
        "type": event.type,
        "time": event.time,
        "status": event.status,
        "created_at": event.created_at,
        "updated_at": event.updated_at,
    }


def find_lease(connection: Connection, lease_id: str, *, lock: bool = False, gone: bool = False) -> Lease | None:
    """Return one lease, or None; `lock` locks its row for this transaction, `gone` finds deleted ones too."""
    rows = connection.execute(_ONE_LOCKED if lock else _ONE, {"lease_id": lease_id}).all()
    rows = [row for row in rows if gone or row.deleted_at is None]
    return _assemble(connection, rows, [lease_id], _WITH_ALLOCATIONS)[0] if rows else None


def find_leases(connection: Connection, ids: Collection[str]) -> list[Lease]:
    """Return those of these leases that are not deleted, without their allocations, oldest first."""
    wanted = sorted(ids)
    query = select(leases).where(leases.c.id.in_(wanted), leases.c.deleted_at.is_(None)).order_by(*_PLACE)
    rows = connection.execute(query).all()
    return _assemble(connection, rows, wanted, _WITHOUT_ALLOCATIONS) if rows else []


def lock_generation(connection: Connection, lease_id: str) -> int | None:
    """Lock the row of a lease, deleted ones too, and return its generation; None: there is no row.

    A caller that has read the lease at this generation need not read it again, except for its allocations.
    """
    generation: int | None = connection.execute(_GENERATION, {"lease_id": lease_id}).scalar_one_or_none()
    return generation


def place_of(connection: Connection, project_id: str | None, lease_id: str) -> tuple[datetime, str] | None:
    """Return the position of a lease in the list, also of a deleted one; None: it never was in this list."""
    query = select(leases.c.created_at, leases.c.id).where(leases.c.id == lease_id)
    if project_id is not None:
        query = query.where(leases.c.project_id == project_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else (row.created_at, row.id)


def list_leases(
    connection: Connection,
    project_id: str | None,
    *,
    after: tuple[datetime, str] | None = None,
    limit: int | None = None,
) -> list[Lease]:
    """Return the leases that are not deleted, of one project or of all, oldest first, as `each_lease` yields them."""
    return list(each_lease(connection, project_id, after=after, limit=limit))


def each_lease(
    connection: Connection,
    project_id: str | None,
    *,
    after: tuple[datetime, str] | None = None,
    limit: int | None = None,
    resource_type: str | None = None,
    wanted: LeaseFilter = EVERY_LEASE,
) -> Iterator[Lease]:
    """Yield the leases that are not deleted, of one project or of all, oldest first; holds `CHUNK` of them at most.

    With `after`, only those that follow this position, and no more than `limit`; with `resource_type`, only those with
    a reservation of this type, and only those that are `wanted`. Their allocations are left out: a list never shows
    them, and they may be most of the database. Takes three statements for each chunk, and one for the ids of all that
    follow the first chunk. The transaction has to see one snapshot.
    """
    query = select(leases).where(leases.c.deleted_at.is_(None))
    if project_id is not None:
        query = query.where(leases.c.project_id == project_id)
    if after is not None:
        query = query.where(_follows(*after))
    if resource_type is not None:
        of_type = select(reservations.c.lease_id).where(reservations.c.resource_type == resource_type)
        query = query.where(leases.c.id.in_(of_type))
    query = query.where(*_wanted(wanted))
    # One row more than a chunk shows whether there are more.
    most = CHUNK + 1 if limit is None else min(CHUNK + 1, limit)
    first = connection.execute(query.order_by(*_PLACE).limit(most)).all()
    rows, more = first[:CHUNK], len(first) > CHUNK
    whole = limit is None and not more
    # If these are all, the same condition finds the parts of many leases faster than a list of ids does.
    ids = query.with_only_columns(leases.c.id) if whole and len(rows) > MANY else [row.id for row in rows]
    yield from _assemble(connection, rows, ids, _WITHOUT_ALLOCATIONS) if rows else ()
    if not more:
        return
    rest = query.with_only_columns(leases.c.id).where(_follows(rows[-1].created_at, rows[-1].id)).order_by(*_PLACE)
    if limit is not None:
        rest = rest.limit(limit - CHUNK)
    left = list(connection.execute(rest).scalars())
    for begin in range(0, len(left), CHUNK):
        ids = left[begin : begin + CHUNK]
        rows = connection.execute(select(leases).where(leases.c.id.in_(ids)).order_by(*_PLACE)).all()
        yield from _assemble(connection, rows, ids, _WITHOUT_ALLOCATIONS)


def _wanted(wanted: LeaseFilter) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a filter."""
    if wanted.name is not None:
        yield leases.c.name == wanted.name
    if wanted.statuses:
        yield leases.c.status.in_(sorted(wanted.statuses))
    if wanted.ends_after is not None:
        yield leases.c.end_at > wanted.ends_after
    if wanted.starts_before is not None:
        yield leases.c.start_at < wanted.starts_before


def _follows(moment: datetime, last: str) -> ColumnElement[bool]:
    """Return the condition that a lease comes after this position in the list."""
    same_moment = and_(leases.c.created_at == moment, leases.c.id > last)
    return or_(leases.c.created_at > moment, same_moment)


def _assemble(
    connection: Connection, rows: Sequence[Row[Any]], ids: Sequence[str] | Select[Any], parts: slice
) -> list[Lease]:
    if isinstance(ids, list):
        found = [connection.execute(query, {"ids": ids}) for query in _PARTS_BY_ID[parts]]
    else:
        found = [connection.execute(query.where(column.in_(ids))) for query, column in _PARTS[parts]]
    reservations_of, events_of, *rest = map(_group, found, ("lease_id", "lease_id", "reservation_id"))
    held = rest[0] if rest else {}
    return [
        _lease(
            row,
            tuple(
                _reservation(part, tuple(map(as_allocation, held.get(part.id, ()))))
                for part in reservations_of.get(row.id, ())
            ),
            tuple(map(_event, events_of.get(row.id, ()))),
        )
        for row in rows
    ]


def _group(rows: Iterable[Row[Any]], key: str) -> dict[str, list[Row[Any]]]:
    return {name: list(members) for name, members in groupby(rows, attrgetter(key))}


def _lease(row: Row[Any], parts: tuple[Reservation, ...], moments: tuple[Event, ...]) -> Lease:
    return Lease(
        id=row.id,
        name=row.name,
        user_id=row.user_id,
        project_id=row.project_id,
        window=Window(row.start_at, row.end_at),
        status=LeaseStatus(row.status),
        status_reason=row.status_reason,
        degraded=row.degraded,
        generation=row.generation,
        created_at=row.created_at,
        updated_at=row.updated_at,
        deleted_at=row.deleted_at,
        reservations=parts,
        events=moments,
        heal_policy=None if row.heal_policy is None else HealPolicy(row.heal_policy),
        reminded=row.reminded,
        type=LeaseType.SCHEDULED if row.type is None else LeaseType(row.type),
        waiting=read_waiting(row.waiting),
        reminders=None if row.reminders is None else tuple(row.reminders),
        at_risk=bool(row.at_risk),
    )


def _reservation(row: Row[Any], held: tuple[Allocation, ...]) -> Reservation:
    return Reservation(
        id=row.id,
        lease_id=row.lease_id,
        resource_type=row.resource_type,
        resource_id=row.resource_id,
        request=row.request,
        status=ReservationStatus(row.status),
        missing_resources=row.missing_resources,
        resources_changed=row.resources_changed,
        cloud=row.cloud,
        created_at=row.created_at,
        updated_at=row.updated_at,
        allocations=held,
        missing=row.missing,
        ending=read_ending(row.ending),
        no_show=read_no_show(row.no_show),
    )


def _event(row: Row[Any]) -> Event:
    return Event(
        id=row.id,
        lease_id=row.lease_id,
        type=row.type,
        time=row.time,
        status=None if row.status is None else EventStatus(row.status),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def save_lease(connection: Connection, before: Lease, after: Lease, now: datetime) -> Lease:
    """Write the differences between a lease that this transaction has locked and its new state; return the new state.

    A status reason is cut to `LONGEST_REASON`. Takes one statement each for the lease, its reservations and its events,
    another one each for a lease that waits, for one with reminders of its own and for one that comes to be or is no
    longer at risk, and none where nothing differs. Any difference increments the lease's
    generation. Allocations are not touched: `db.allocation` writes them. Raises ForbiddenTransitionError for a status
    that may not change so.
    """
    check(before, after)
    after = replace(after, status_reason=after.status_reason and after.status_reason[:LONGEST_REASON])
    if before == after:
        return before
    parts = _stamped(before.reservations, after.reservations, now)
    moments = _stamped(before.events, after.events, now)
    saved = replace(
        after,
        generation=before.generation + 1,
        updated_at=now,
        reservations=tuple(part for part, _ in parts),
        events=tuple(moment for moment, _ in moments),
    )
    connection.execute(_SAVE_LEASE, {"key": saved.id, **_changed_lease(saved)})
    if saved.waiting is not None and (saved.waiting, saved.status) != (before.waiting, before.status):
        connection.execute(_SAVE_WAITING, {"key": saved.id, **write_waiting(saved)})
    if write_reminders(saved) != write_reminders(before):
        connection.execute(_SAVE_REMINDERS, {"key": saved.id, **write_reminders(saved)})
    if saved.at_risk != before.at_risk:
        connection.execute(_SAVE_RISK, {"key": saved.id, "at_risk": saved.at_risk})
    changed_parts = [_changed_reservation(part) for part, changed in parts if changed]
    if changed_parts:
        connection.execute(_SAVE_RESERVATION, changed_parts)
    changed_moments = [_changed_event(moment) for moment, changed in moments if changed]
    if changed_moments:
        connection.execute(_SAVE_EVENT, changed_moments)
    return saved


def _stamped(before: Sequence[Part], after: Sequence[Part], now: datetime) -> list[tuple[Part, bool]]:
    """Return the parts of a lease with the moment of their change, each with whether it has changed."""
    return [
        (new, False) if old == new else (replace(new, updated_at=now), True)
        for old, new in zip(before, after, strict=True)
    ]


def _changed_lease(lease: Lease) -> dict[str, Any]:
    return {
        "name": lease.name,
        "start_at": lease.window.start,
        "end_at": lease.window.end,
        "status": lease.status,
        "status_reason": lease.status_reason,
        "degraded": lease.degraded,
        "generation": lease.generation,
        "updated_at": lease.updated_at,
        "deleted_at": lease.deleted_at,
        "heal_policy": lease.heal_policy,
        "reminded": lease.reminded,
    }


def _changed_reservation(reservation: Reservation) -> dict[str, Any]:
    return {
        "key": reservation.id,
        "request": dict(reservation.request),
        "status": reservation.status,
        "missing_resources": reservation.missing_resources,
        "resources_changed": reservation.resources_changed,
        "missing": reservation.missing,
        "cloud": dict(reservation.cloud),
        "ending": write_ending(reservation.ending),
        "no_show": write_no_show(reservation.no_show),
        "updated_at": reservation.updated_at,
    }


def _changed_event(event: Event) -> dict[str, Any]:
    return {"key": event.id, "time": event.time, "status": event.status, "updated_at": event.updated_at}


def _save(table: Table, *columns: str) -> Update:
    return update(table).where(table.c.id == bindparam("key")).values({name: bindparam(name) for name in columns})


_SAVE_LEASE = _save(
    leases,
    "name",
    "start_at",
    "end_at",
    "status",
    "status_reason",
    "degraded",
    "generation",
    "updated_at",
    "deleted_at",
    "heal_policy",
    "reminded",
)
_SAVE_WAITING = _save(leases, "waiting", "waiting_since")
_SAVE_REMINDERS = _save(leases, "reminders", "remind_at")
_SAVE_RISK = _save(leases, "at_risk")
_SAVE_RESERVATION = _save(
    reservations,
    "request",
    "status",
    "missing_resources",
    "resources_changed",
    "missing",
    "cloud",
    "ending",
    "no_show",
    "updated_at",
)
_SAVE_EVENT = _save(events, "time", "status", "updated_at")
