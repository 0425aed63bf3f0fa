"""What projects use: how many leases each has open, and how much of each resource is allocated to these at a time.

The decisions of a project lock its row in `project_use` before they lock any pool. So a project that sends many
requests at a time waits only once in the queue for the pools. The row keeps upper bounds: each decision adds what it
asks for, and only a recount, at the limit of leases or after `COUNTED_FOR`, subtracts what was given back. Where they
do not decide, what is allocated in the window that is asked for is read and counted. So a decision costs one statement,
or five, however many leases there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, bindparam, func, insert, null, select, union_all, update
from sqlalchemy.exc import IntegrityError

from leasehold.db.allocation import read_demand
from leasehold.db.columns.ending import counted_end
from leasehold.db.dialects import IDS, AmongIds
from leasehold.db.leases.holding import in_window, may_hold
from leasehold.db.store import GenerationRaceError
from leasehold.db.tables import allocations, leases, project_use
from leasehold.db.together import together
from leasehold.model.states import LeaseStatus
from leasehold.model.use import MOST, NAMES, Use
from leasehold.model.windows import OPEN_END, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import ColumnElement, CompoundSelect, Connection

    from leasehold.model.windows import Window

OVER = (LeaseStatus.TERMINATED, LeaseStatus.DELETING, LeaseStatus.TIMEDOUT)
"""Statuses of leases that are no longer open: they have ended or timed out, or their owner has asked for their end."""
AT_ONCE: Final = 5_000
"""Leases whose allocations are read with one statement."""
COUNTED_FOR: Final = timedelta(hours=1)
"""How long upper bounds are trusted; the recount includes what no decision has added, such as imported leases."""
_ENDLESS: Final = 2**62
"""The room where nothing is limited: a sum beyond it is counted anew before it is more than a column takes."""
_TAKE = (
    update(project_use)
    .where(
        project_use.c.project_id == bindparam("project"),
        project_use.c.counted_at > bindparam("since"),
        *(project_use.c[name] <= bindparam(f"room_{name}", type_=BigInteger) for name in NAMES),
    )
    .values({name: project_use.c[name] + bindparam(f"more_{name}", type_=BigInteger) for name in NAMES})
)
_BOUNDS = select(*(project_use.c[name] for name in NAMES)).where(
    project_use.c.project_id == bindparam("project"), project_use.c.counted_at > bindparam("since")
)
_ENTER = (
    update(project_use).where(project_use.c.project_id == bindparam("project")).values(turns=project_use.c.turns + 1)
)
_KEEP = (
    update(project_use)
    .where(project_use.c.project_id == bindparam("project"))
    .values({name: bindparam(f"now_{name}") for name in NAMES} | {"counted_at": bindparam("now")})
)
_OF_PROJECT = leases.c.project_id == bindparam("project")
_NOT_OVER = leases.c.status.not_in(OVER)
_OPEN = (_OF_PROJECT, leases.c.deleted_at.is_(None), _NOT_OVER)
_OF_USER = leases.c.user_id == bindparam("user")
_COUNT_OPEN = select(func.count()).select_from(leases).where(*_OPEN)
_COUNT_OPEN_OF_USER = _COUNT_OPEN.where(_OF_USER)
_TIMES = (allocations.c.pool, allocations.c.demand, allocations.c.starts_at, allocations.c.ends_at)
_CHILD = leases.alias("child")
_SLOTS = func.sum(allocations.c.slots).label("slots")


def _whole(*some: ColumnElement[bool]) -> CompoundSelect[Any]:
    """Return the query for what `some` open leases hold, whenever.

    What a lease has lent comes back to it, so it counts for the lender all the time, and for the sub-lease beside that.
    """
    own = leases.join(allocations, allocations.c.lease_id == leases.c.id)
    lent = leases.join(_CHILD, _CHILD.c.parent_id == leases.c.id).join(
        allocations, allocations.c.lease_id == _CHILD.c.id
    )
    held = [*_OPEN, *some, leases.c.id != bindparam("but"), allocations.c.ends_at > allocations.c.starts_at]
    times = (*_TIMES, leases.c.end_at)
    return union_all(
        select(*times, leases.c.parent_id, _SLOTS).select_from(own).where(*held).group_by(*times, leases.c.parent_id),
        select(*times, null().label("parent_id"), _SLOTS)
        .select_from(lent)
        .where(*held, allocations.c.released_at.is_(None))
        .group_by(*times),
    )


def _near(*some: ColumnElement[bool]) -> CompoundSelect[Any]:
    """Return the query for those of `some` leases that may hold something in a window, with some that were deleted.

    Were these left out, PostgreSQL could take the index of the leases that are not deleted, which reads all of them.
    """
    mine = (_OF_PROJECT, _NOT_OVER, *some, leases.c.id != bindparam("but"))
    return may_hold(select(leases.c.id, leases.c.end_at, leases.c.parent_id, leases.c.deleted_at).where(*mine))


_WHOLE = {of_user: _whole(*([_OF_USER] if of_user else [])) for of_user in (False, True)}
_NEAR = {of_user: _near(*([_OF_USER] if of_user else [])) for of_user in (False, True)}
_CHILDREN = select(leases.c.id, leases.c.parent_id).where(AmongIds(leases.c.parent_id))
_HELD = (
    select(allocations.c.lease_id, *_TIMES, _SLOTS)
    .where(
        AmongIds(allocations.c.lease_id),
        allocations.c.ends_at > allocations.c.starts_at,
        allocations.c.starts_at < bindparam("window_end"),
        allocations.c.ends_at > bindparam("window_start"),
    )
    .group_by(allocations.c.lease_id, *_TIMES)
)
_LENT = _HELD.where(allocations.c.released_at.is_(None))


def take_use(connection: Connection, project_id: str, more: Use, most: Use, now: datetime) -> bool:
    """Add `more` to what the project uses and return True, if its upper bounds stay within `most`; MOST is no limit.

    No other transaction adds anything until this one ends. False means that `enter` and a count have to decide.
    """
    return connection.execute(_TAKE, _taking(project_id, more, most, now)).rowcount == 1


def take_uses(connection: Connection, wanted: Mapping[str, tuple[Use, Use]], now: datetime) -> frozenset[str]:
    """Do as `take_use` for projects in their order; return those whose use would not stay within what it may be.

    A server gets all at once. Only if that is too much for one project are they taken one by one.
    """
    if len(wanted) > 1:
        connection.exec_driver_sql("SAVEPOINT uses")
        with together(connection) as writes:
            writes.execute(_TAKE, [_taking(project_id, *each, now) for project_id, each in wanted.items()])
        if writes.is_complete:
            return frozenset()
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT uses")
    return frozenset(each for each, amounts in wanted.items() if not take_use(connection, each, *amounts, now))


def _taking(project_id: str, more: Use, most: Use, now: datetime) -> dict[str, Any]:
    values: dict[str, Any] = {"project": project_id, "since": now - COUNTED_FOR}
    for name, amount, limit in zip(NAMES, more.amounts, most.amounts, strict=True):
        values |= {f"more_{name}": amount, f"room_{name}": _ENDLESS if limit == MOST else limit - amount}
    return values


def use_bounds(connection: Connection, project_id: str, now: datetime) -> Use | None:
    """Return the upper bounds of what a project uses, which `take_use` adds to; None where it would count."""
    row = connection.execute(_BOUNDS, {"project": project_id, "since": now - COUNTED_FOR}).first()
    return None if row is None else Use(*row)


def enter(connection: Connection, project_id: str) -> None:
    """Lock what the project uses: no other transaction adds to it until this one ends.

    Raises GenerationRaceError when another transaction creates the project's row at the same moment. This is a write
    and not a row lock, because on Galera only writes conflict between two nodes.
    """
    if connection.execute(_ENTER, {"project": project_id}).rowcount == 0:
        try:
            connection.execute(insert(project_use), {"project_id": project_id, "turns": 1})
        except IntegrityError as error:
            raise GenerationRaceError(project_id) from error


@dataclass(frozen=True, slots=True)
class Allocated:
    """What is allocated to the open leases of a project from `start` to `end`, in seconds since the epoch."""

    start: int
    end: int
    use: Use


@dataclass(slots=True)
class CountedUse:
    """What projects use as a transaction that decides counts it.

    `whole` names, by pool, the amount of `Use` in which a whole resource counts 1. `kept` is the count that it stored.
    `others` are leases of the same user that the transaction has decided about and not written yet.
    """

    connection: Connection
    whole: Mapping[str, str]
    others: list[Allocated] = field(default_factory=list)
    kept: tuple[str, Use, datetime] | None = field(default=None, init=False)

    def take(self, project_id: str, more: Use, most: Use, now: datetime) -> bool:
        """Do as `take_use`."""
        return take_use(self.connection, project_id, more, most, now)

    def enter(self, project_id: str) -> None:
        """Lock what the project uses, before it is counted."""
        enter(self.connection, project_id)

    def keep(self, project_id: str, use: Use, more: Use, now: datetime) -> None:
        """Store the counted use of a project whose row this transaction has locked by `enter`, and `more`."""
        self.connection.exec_driver_sql("SAVEPOINT counted")
        self._store(project_id, use + more, now)
        self.kept = project_id, use, now

    def undo_but_count(self) -> bool:
        """Undo what the transaction has done since a count, and keep that; return False if it has counted nothing."""
        if self.kept is not None:
            self.connection.exec_driver_sql("ROLLBACK TO SAVEPOINT counted")
            self._store(*self.kept)
        return self.kept is not None

    def _store(self, project_id: str, use: Use, now: datetime) -> None:
        values = {f"now_{name}": amount for name, amount in zip(NAMES, use.amounts, strict=True)}
        self.connection.execute(_KEEP, {"project": project_id, "now": now, **values})

    def open_leases(self, project_id: str, user_id: str | None = None) -> int:
        """Return how many leases of the project, or of one user in it, are neither over nor deleted."""
        if user_id is None:
            count: int = self.connection.execute(_COUNT_OPEN, {"project": project_id}).scalar_one()
        else:
            count = self.connection.execute(_COUNT_OPEN_OF_USER, {"project": project_id, "user": user_id}).scalar_one()
        return count + len(self.others)

    def allocated(
        self, project_id: str, *, but: str = "", user_id: str | None = None, window: Window | None = None
    ) -> list[Allocated]:
        """Return what is allocated to the open leases of a project, or of one user in it, without the lease `but`.

        With what they have lent. With a `window`, only what is allocated at some moment of it: then no more leases are
        read than those that may hold something in it.
        """
        asked = {"project": project_id, "but": but, **({} if user_id is None else {"user": user_id})}
        if window is not None:
            return [*self.others, *_allocated_near(self.connection, asked, window, self.whole)]
        rows = self.connection.execute(_WHOLE[user_id is not None], asked)
        found = (_allocated(row, row.end_at, self.whole, lent=row.parent_id is not None) for row in rows)
        return [*self.others, *found]


def _allocated_near(
    connection: Connection, asked: Mapping[str, str], window: Window, whole: Mapping[str, str]
) -> list[Allocated]:
    """Return what leases have allocated in a window: first the leases are found by an index, then what each has.

    In one query, a database that knew little of its tables read all allocations first.
    """
    some = connection.execute(_NEAR["user" in asked], {**asked, **in_window(window)})
    near = {row.id: row for row in some if row.deleted_at is None}
    start, end = window.seconds
    times = {"window_start": start, "window_end": end}
    found = []
    for ids in _parts(list(near)):
        for row in connection.execute(_HELD, {**times, IDS: ids}):
            mine = near[row.lease_id]
            found.append(_allocated(row, mine.end_at, whole, lent=mine.parent_id is not None))
        lenders = {row.id: near[row.parent_id] for row in connection.execute(_CHILDREN, {IDS: ids})}
        rows = connection.execute(_LENT, {**times, IDS: list(lenders)}) if lenders else ()
        found += [_allocated(row, lenders[row.lease_id].end_at, whole, lent=False) for row in rows]
    return found


def _parts(ids: list[str]) -> list[list[str]]:
    return [ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE)]


def _allocated(row: Any, lease_end: datetime, whole: Mapping[str, str], *, lent: bool) -> Allocated:
    end = counted_end(row.ends_at, lease_end, lent=lent)
    return Allocated(row.starts_at, end, _use_of(whole.get(row.pool), row.demand, int(row.slots)))


def _use_of(whole: str | None, text: str | None, slots: int) -> Use:
    demand = read_demand(text)
    if demand is not None:
        return Use.of_slots(demand, slots)
    return Use() if whole is None else Use(**{whole: slots})


def total(allocated: list[Allocated]) -> Use:
    """Return the sum of all, whatever their windows."""
    return sum((each.use for each in allocated), Use())


def host_seconds(allocated: list[Allocated], since: datetime, open_ended: timedelta) -> int:
    """Return the sum over all whole hosts of the seconds for which they are allocated from a moment on.

    Without an end these are as many as `open_ended` has.
    """
    begin, longest, never = to_seconds(since), int(open_ended.total_seconds()), to_seconds(OPEN_END)

    def ahead(each: Allocated) -> int:
        return longest if each.end >= never else max(0, each.end - max(begin, each.start))

    return sum(ahead(each) * each.use.hosts for each in allocated)


def peak(allocated: list[Allocated], window: Window) -> Use:
    """Return for each amount the most that is allocated at any moment of the window."""
    start, end = to_seconds(window.start), to_seconds(window.end)
    changes = []
    for each in allocated:
        if each.start < end and each.end > start:
            changes.append((max(start, each.start), 1, each.use.amounts))
            changes.append((each.end, -1, each.use.amounts))
    running, most = [0] * len(NAMES), [0] * len(NAMES)
    # At equal moments the ends (-1) sort before the begins (1), so allocations that only touch do not add up.
    for _, sign, amounts in sorted(changes):
        for column, amount in enumerate(amounts):
            running[column] += sign * amount
            most[column] = max(most[column], running[column])
    return Use(*most)
