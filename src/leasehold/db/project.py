"""What projects use: how many leases each has open, and how much of each resource is allocated to these at a time.

The decisions of a project lock its row in `project_use` before they lock any pool. So a project that sends many
requests at a time waits only once in the queue for the pools. The row keeps upper bounds: each decision adds what it
asks for, and only a recount, at the limit of leases or after `COUNTED_FOR`, subtracts what was given back. Where they
do not decide, what is allocated in the window that is asked for is read and counted. So a decision costs one statement,
or three, however many leases there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, bindparam, func, insert, null, select, union_all, update
from sqlalchemy.exc import IntegrityError

from leasehold.db.allocation import read_demand
from leasehold.db.ending import counted_end
from leasehold.db.holding import in_window, may_hold
from leasehold.db.store import GenerationRaceError
from leasehold.db.tables import allocations, leases, project_use
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
_OPEN = (
    leases.c.project_id == bindparam("project"),
    leases.c.deleted_at.is_(None),
    leases.c.status.not_in(OVER),
)
_OF_USER = leases.c.user_id == bindparam("user")
_COUNT_OPEN = select(func.count()).select_from(leases).where(*_OPEN)
_COUNT_OPEN_OF_USER = _COUNT_OPEN.where(_OF_USER)
_TIMES = (allocations.c.pool, allocations.c.demand, allocations.c.starts_at, allocations.c.ends_at)
_CHILD = leases.alias("child")
_SLOTS = func.sum(allocations.c.slots).label("slots")


def _allocated(*some: ColumnElement[bool], within: bool) -> CompoundSelect[Any]:
    """Return the query for what `some` open leases hold, `within` a window or whenever.

    What a lease has lent comes back to it, so it counts for the lender all the time, and for the sub-lease beside that.
    Nothing but the leases can be read first, also where the database knows nothing of how large its tables are.
    """
    mine = select(leases.c.id, leases.c.end_at, leases.c.parent_id).where(
        *_OPEN, *some, leases.c.id != bindparam("but")
    )
    owner = (may_hold(mine) if within else mine).subquery("owner")
    held = [allocations.c.ends_at > allocations.c.starts_at]
    if within:
        held += [allocations.c.starts_at < bindparam("window_end"), allocations.c.ends_at > bindparam("window_start")]
    own = owner.join(allocations, allocations.c.lease_id == owner.c.id)
    lent = owner.join(_CHILD, _CHILD.c.parent_id == owner.c.id).join(allocations, allocations.c.lease_id == _CHILD.c.id)
    times = (*_TIMES, owner.c.end_at)
    return union_all(
        select(*times, owner.c.parent_id, _SLOTS).select_from(own).where(*held).group_by(*times, owner.c.parent_id),
        select(*times, null().label("parent_id"), _SLOTS)
        .select_from(lent)
        .where(*held, allocations.c.released_at.is_(None))
        .group_by(*times),
    )


_ALLOCATED = {
    (of_user, within): _allocated(*([_OF_USER] if of_user else []), within=within)
    for of_user in (False, True)
    for within in (False, True)
}


def take_use(connection: Connection, project_id: str, more: Use, most: Use, now: datetime) -> bool:
    """Add `more` to what the project uses and return True, if its upper bounds stay within `most`; MOST is no limit.

    No other transaction adds anything until this one ends. False means that `enter` and a count have to decide.
    """
    values: dict[str, int] = {}
    for name, amount, limit in zip(NAMES, more.amounts, most.amounts, strict=True):
        values |= {f"more_{name}": amount, f"room_{name}": _ENDLESS if limit == MOST else limit - amount}
    return connection.execute(_TAKE, {"project": project_id, "since": now - COUNTED_FOR, **values}).rowcount == 1


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


def keep_use(connection: Connection, project_id: str, use: Use, now: datetime) -> None:
    """Store the counted use of a project whose row this transaction has locked by `enter`."""
    values = {f"now_{name}": amount for name, amount in zip(NAMES, use.amounts, strict=True)}
    connection.execute(_KEEP, {"project": project_id, "now": now, **values})


def count_open_leases(connection: Connection, project_id: str, user_id: str | None = None) -> int:
    """Return how many leases of the project, or of one user in it, are neither over nor deleted."""
    if user_id is None:
        count: int = connection.execute(_COUNT_OPEN, {"project": project_id}).scalar_one()
    else:
        count = connection.execute(_COUNT_OPEN_OF_USER, {"project": project_id, "user": user_id}).scalar_one()
    return count


@dataclass(frozen=True, slots=True)
class Allocated:
    """What is allocated to the open leases of a project from `start` to `end`, in seconds since the epoch."""

    start: int
    end: int
    use: Use


def allocated_to(
    connection: Connection,
    project_id: str,
    whole: Mapping[str, str],
    *,
    but: str = "",
    user_id: str | None = None,
    window: Window | None = None,
) -> list[Allocated]:
    """Return what is allocated to the open leases of a project, or of one user in it, without the lease `but`.

    With what they have lent. With a `window`, only what is allocated at some moment of it: then no more leases are read
    than those that may hold something in it.

    `whole` names, by pool, the amount of `Use` in which a whole resource counts 1.
    """
    query = _ALLOCATED[user_id is not None, window is not None]
    asked = {"project": project_id, "but": but, **({} if user_id is None else {"user": user_id})}
    rows = connection.execute(query, asked if window is None else {**asked, **in_window(window)})
    return [
        Allocated(row.starts_at, counted_end(row), _use_of(whole.get(row.pool), row.demand, int(row.slots)))
        for row in rows
    ]


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
