"""Leases in the database, with their reservations, allocations and events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import starmap
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import bindparam, insert, literal_column, select

from leasehold.db.allocation import as_allocation, with_neighbours
from leasehold.db.columns.lease_columns import (
    EVENT,
    LEASE,
    RARELY,
    RESERVATION,
    Written,
    given,
    saving,
    selected,
    written,
)
from leasehold.db.dialects import IDS, among_few
from leasehold.db.leases.lease_parts import whole_lease, with_parts
from leasehold.db.tables import allocations, events, leases, reservations, tasks
from leasehold.db.task import LEASE as LEASE_TASK
from leasehold.db.untold import note
from leasehold.model.lease import Event
from leasehold.model.reservation import Reservation
from leasehold.model.states import LeaseStatus
from leasehold.model.transitions import check

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from leasehold.db.columns.lease_columns import Fields
    from leasehold.db.together import Writer
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease

LONGEST_REASON = 4_000
"""In characters; MariaDB refuses texts of more than 64 KiB, and a reason may name thousands of hosts."""

Part = TypeVar("Part", Reservation, Event)
"""What a lease consists of."""


_LEASE = selected(leases, LEASE)

_HELD_BY_ID = select(allocations).where(among_few(allocations.c.lease_id)).order_by(allocations.c.id)
_ONE = select(*_LEASE).where(leases.c.id == bindparam("lease_id"))
_ONE_LOCKED = _ONE.with_for_update()
_TASK = (tasks.c.kind == literal_column(f"'{LEASE_TASK}'"), tasks.c.subject == leases.c.id)
_HOLDER = select(tasks.c.claimed_by).where(*_TASK).scalar_subquery().label("holder")
_EACH = select(*_LEASE).where(
    among_few(leases.c.id), leases.c.deleted_at.is_(None), leases.c.status != LeaseStatus.OFFERED
)
_EACH_LOCKED = _EACH.order_by(leases.c.id).with_for_update(skip_locked=True)
_CLAIMED = select(*_LEASE, _HOLDER).where(among_few(leases.c.id)).order_by(leases.c.id)
_ONE_CLAIMED, _SOME_CLAIMED = _CLAIMED.with_for_update(), _CLAIMED.with_for_update(skip_locked=True)
_STATE = select(leases.c.id, leases.c.generation, _HOLDER).where(among_few(leases.c.id)).order_by(leases.c.id)
_STATE = _STATE.with_for_update(skip_locked=True)
_WHOLE = (Written.ONCE, Written.ALWAYS)
_INSERT_LEASE, _INSERT_RESERVATION, _INSERT_EVENT = insert(leases), insert(reservations), insert(events)
_GENERATION = select(leases.c.generation).where(leases.c.id == bindparam("lease_id")).with_for_update()
_GENERATIONS = (
    select(leases.c.id, leases.c.generation).where(among_few(leases.c.id)).order_by(leases.c.id).with_for_update()
)


def insert_lease(connection: Writer, lease: Lease) -> None:
    """Write a new lease with its reservations and events: three statements, however many parts."""
    rare = given(written(LEASE, lease, Written.ONCE, *RARELY))
    connection.execute(_INSERT_LEASE, {**rare, **written(LEASE, lease, Written.ALWAYS)})
    if lease.reservations:
        rows = [
            {"position": position, **written(RESERVATION, part, *_WHOLE)}
            for position, part in enumerate(lease.reservations)
        ]
        connection.execute(_INSERT_RESERVATION, rows)
    if lease.events:
        connection.execute(_INSERT_EVENT, [written(EVENT, event, *_WHOLE) for event in lease.events])


def find_lease(
    connection: Connection, lease_id: str, *, lock: bool = False, gone: bool = False, offered: bool = False
) -> Lease | None:
    """Return one lease, or None; `lock` locks its row for this transaction.

    `offered` finds an offer as well that nobody has accepted, `gone` that and deleted ones too.
    """
    rows = connection.execute(_ONE_LOCKED if lock else _ONE, {"lease_id": lease_id}).all()
    hidden = not (gone or offered)
    rows = [row for row in rows if gone or row.deleted_at is None]
    rows = [row for row in rows if not hidden or row.status != LeaseStatus.OFFERED]
    return _assemble(connection, rows, [lease_id], _held(connection, lease_id))[0] if rows else None


def find_each(connection: Connection, ids: Sequence[str], *, lock: bool = False) -> dict[str, Lease]:
    """Return those of these leases that `find_lease` would find by itself, by id; `lock` locks what nobody else has."""
    rows = connection.execute(_EACH_LOCKED if lock else _EACH, {IDS: ids}).all()
    found = [row.id for row in rows]
    return {each.id: each for each in _assemble(connection, rows, found, _held(connection, *found))} if rows else {}


@dataclass(frozen=True, slots=True)
class Claimed:
    """A lease, who has claimed its task, and what is unreleased on its resources; None unless it is to start.

    The task is not locked: a claim that is lost at this moment is noticed before the next call to the cloud, as one
    that is lost afterwards.
    """

    lease: Lease
    holder: str | None
    there: Sequence[Allocation] | None


def find_claimed(connection: Connection, ids: Sequence[str], now: datetime) -> dict[str, Claimed]:
    """Lock leases, and return those of them that there are, deleted ones too, as `find_lease` does.

    Of several, those are left out that somebody else has locked: nobody who holds leases waits here for another one.
    """
    rows = connection.execute(_ONE_CLAIMED if len(ids) == 1 else _SOME_CLAIMED, {IDS: ids}).all()
    if not rows:
        return {}
    found = [row.id for row in rows]
    starting = {
        row.id
        for row in rows
        if row.status != LeaseStatus.ACTIVE and row.deleted_at is None and row.start_at <= now < row.end_at
    }
    held, begun = with_neighbours(connection, found, now) if starting else (_held(connection, *found), [])
    there: dict[int, list[Allocation]] = {}
    for each in begun:
        there.setdefault(each.resource_number, []).append(each)
    claimed = {}
    for row, lease in zip(rows, _assemble(connection, rows, found, held), strict=True):
        numbers = {each.resource_number for part in lease.reservations for each in part.allocations}
        on_its = [each for number in numbers for each in there.get(number, ())]
        claimed[lease.id] = Claimed(lease, row.holder, on_its if lease.id in starting else None)
    return claimed


def lock_states(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[int, str | None]]:
    """Lock leases, but none that somebody else has locked; return the generation of each, and who has its task."""
    rows = connection.execute(_STATE, {IDS: ids})
    return {row.id: (row.generation, row.holder) for row in rows}


def _held(connection: Connection, *lease_ids: str) -> list[Allocation]:
    return [as_allocation(row) for row in connection.execute(_HELD_BY_ID, {IDS: lease_ids})]


def lock_unchanged(connection: Connection, seen: Lease) -> Lease | None:
    """Lock a lease that was read before, and return it with the allocations it has now; None if it has changed."""
    unchanged = lock_generation(connection, seen.id) == seen.generation
    return with_allocations(connection, seen)[0] if unchanged else None


def lock_those_unchanged(connection: Connection, seen: Sequence[Lease]) -> dict[str, Lease]:
    """Do as `lock_unchanged` for several leases, in the order of their ids; return those unchanged, by id."""
    if not seen:
        return {}
    rows = connection.execute(_GENERATIONS, {IDS: [each.id for each in seen]}).all()
    generations = {row.id: row.generation for row in rows}
    unchanged = [each for each in seen if generations.get(each.id) == each.generation]
    return {each.id: each for each in with_allocations(connection, *unchanged)} if unchanged else {}


def with_allocations(connection: Connection, *found: Lease) -> list[Lease]:
    """Return leases with the allocations that they have now."""
    held: dict[str, list[Allocation]] = {}
    for each in _held(connection, *(lease.id for lease in found)):
        held.setdefault(each.reservation_id, []).append(each)
    return [
        replace(
            lease,
            reservations=tuple(replace(part, allocations=tuple(held.get(part.id, ()))) for part in lease.reservations),
        )
        for lease in found
    ]


def find_leases(connection: Connection, ids: Collection[str]) -> list[Lease]:
    """Return those of these leases that are not deleted, nor offers, without their allocations, oldest first."""
    wanted = sorted(ids)
    there = (leases.c.deleted_at.is_(None), leases.c.status != LeaseStatus.OFFERED)
    query = select(*_LEASE).where(leases.c.id.in_(wanted), *there).order_by(leases.c.created_at, leases.c.id)
    rows = connection.execute(query).all()
    return _assemble(connection, rows, wanted) if rows else []


def lock_generation(connection: Connection, lease_id: str) -> int | None:
    """Lock the row of a lease, deleted ones too, and return its generation; None: there is no row.

    A caller that has read the lease at this generation need not read it again, except for its allocations.
    """
    generation: int | None = connection.execute(_GENERATION, {"lease_id": lease_id}).scalar_one_or_none()
    return generation


def _assemble(
    connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]], ids: Sequence[str], held: Iterable[Allocation] = ()
) -> list[Lease]:
    """Return the leases of these rows, with their reservations and events, and these allocations in their order."""
    return list(starmap(whole_lease, with_parts(connection, rows, ids, held)))


def save_lease(connection: Writer, before: Lease, after: Lease, now: datetime, *, locked: bool = True) -> Lease:
    """Write the differences between a lease that this transaction has locked and its new state; return the new state.

    Without `locked` the lease is written only if it has not changed since it was read: `Together.is_complete` says so.

    A status reason is cut to `LONGEST_REASON`. Takes one statement each for the lease, its reservations and its events,
    another one each for a lease that waits, for one with reminders of its own and for one that comes to be or is no
    longer at risk, and none where nothing differs. Any difference increments the lease's
    generation. Allocations are not touched: `db.allocation` writes them. Raises ForbiddenTransitionError for a status
    that may not change so.
    """
    check(before, after)
    after = replace(after, status_reason=after.status_reason and after.status_reason[:LONGEST_REASON])
    if before == after and locked:
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
    values = _keyed(LEASE, saved)
    if locked:
        connection.execute(_SAVE_LEASE, values)
    else:
        connection.execute(_SAVE_UNCHANGED, {**values, "seen": before.generation})
    _save_rare(connection, before, saved)
    for statement, fields, stamped in ((_SAVE_RESERVATION, RESERVATION, parts), (_SAVE_EVENT, EVENT, moments)):
        changed = [_keyed(fields, each) for each, is_changed in stamped if is_changed]
        if changed:
            connection.execute(statement, changed)
    if before.status is not LeaseStatus.OFFERED or saved.deleted_at is None:
        # An offer that lapses never was a lease, so it has no past.
        note(connection, saved)
    return saved


def _save_rare(connection: Writer, before: Lease, saved: Lease) -> None:
    for rare, statement in _SAVE_RARELY.items():
        new = written(LEASE, saved, rare)
        if new != written(LEASE, before, rare):
            connection.execute(statement, {"key": saved.id, **new})


def _stamped(before: Sequence[Part], after: Sequence[Part], now: datetime) -> list[tuple[Part, bool]]:
    """Return the parts of a lease with the moment of their change, each with whether it has changed."""
    return [
        (new, False) if old == new else (replace(new, updated_at=now), True)
        for old, new in zip(before, after, strict=True)
    ]


def _keyed(fields: Fields, of: Lease | Reservation | Event) -> dict[str, Any]:
    return {"key": of.id, **written(fields, of, Written.ALWAYS)}


_SAVE_LEASE = saving(leases, LEASE, Written.ALWAYS)
_SAVE_UNCHANGED = _SAVE_LEASE.where(leases.c.generation == bindparam("seen"))
_SAVE_RARELY = {each: saving(leases, LEASE, each) for each in RARELY}
_SAVE_RESERVATION = saving(reservations, RESERVATION, Written.ALWAYS)
_SAVE_EVENT = saving(events, EVENT, Written.ALWAYS)
