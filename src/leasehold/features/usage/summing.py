"""Managers sum whole days that are over, one at a time, and what nobody has used once that is over (decision 0156).

A day is closed first, in a transaction that locks who follows and polls: nothing before its end is written from then
on. Its spans are then read without a lock, and its sums written with the cursor of days: each day once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, func, insert, select, update

from leasehold.db.tables import segments
from leasehold.features.usage.days import first_day
from leasehold.features.usage.follow import first_unread
from leasehold.features.usage.store import (
    CLOSED,
    DAYS,
    PENDING,
    SUMMED,
    SUMS,
    Progress,
    all_progress,
    find_progress,
    poll_of,
    save_progress,
    usage_days,
    usage_terms,
    used_among,
)
from leasehold.features.usage.sums import DAY, Asked, Group, lent, of_near, sums
from leasehold.features.usage.tally import IN_DAYS, active_of, of_spans, watched_parts
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime
    from threading import Event

    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.features.usage.sums import Key

MARGIN: Final = 3_600
"""Seconds after its end for which a day stays open: no transaction that read its clock before takes that long."""
SILENT: Final = 3 * DAY
"""Seconds after its last poll for which a type keeps days open: longer than what lies between polls is not bridged."""
BATCH: Final = 200
"""Reservations that nobody has used, in one transaction."""
ALL: Final = 2**31
"""Rows of the sums of a day: any number."""
_OWNER: Final = ("project_id", "user_id")


def sum_days(db: Database, now: datetime, stopping: Event | None = None) -> int:
    """Sum all days that are over and known in full, and return how many; ends after a step when `stopping`."""
    count = 0
    while not (stopping is not None and stopping.is_set()):
        day = db.transact(partial(_next_day, to_seconds(now)))
        if day is not None:
            with db.reading() as connection:
                rows = _rows(connection, Asked(day, day + DAY, to_seconds(now), Group.USER, most=ALL))
            count += db.transact(partial(_write, day, rows))
        elif not _settle(db, to_seconds(now)):
            break
    return count


# ---------------------------------------------------------------- days


def _next_day(now: int, connection: Connection) -> int | None:
    """Return the next day to sum, which is closed; None if none can be closed yet.

    Raises IntegrityError if another manager does its first step at the same time.
    """
    known = all_progress(connection)
    if CLOSED not in known:
        first = _first_end(connection)
        begin = min(now, now if first is None else first) // DAY * DAY
        known |= {name: Progress(name, begin, begin) for name in (CLOSED, DAYS)}
        for name in (CLOSED, DAYS):
            save_progress(connection, None, known[name])
    closed, day = known[CLOSED], known[DAYS].position
    if day == closed.position:
        if not _is_known(connection, known, day + DAY, now):
            return None
        save_progress(connection, closed, Progress(CLOSED, closed.since, day + DAY))
    return day


def _first_end(connection: Connection) -> int | None:
    """Return when the first segment ended: days before that are read from spans."""
    first: int | None = connection.scalar(select(func.min(segments.c.ends_at)))
    return first


def _is_known(connection: Connection, known: Mapping[str, Progress], end: int, now: int) -> bool:
    """Say whether all that happened before the end of a day is written, up to what silent polls may still say."""
    polls = [each.position for name, each in known.items() if name.startswith(poll_of(""))]
    if now < end + MARGIN or any(now - SILENT < position < end for position in polls):
        return False
    unread = first_unread(connection)
    return unread is None or unread >= end


def _rows(connection: Connection, asked: Asked) -> Sequence[dict[str, Any]]:
    """Return the rows of a day; no-shows are added later, once they are settled."""
    near = of_near(connection, asked)
    found = dict(of_spans(connection, near, IN_DAYS))
    of_lenders = sums(connection, lent(connection, near), replace(near, group=Group.PROJECT))
    found["lent"] = Counter({(project, "", kind): seconds for (project, kind), seconds in of_lenders.items()})
    keys = sorted({key for name in SUMS for key, seconds in found[name].items() if seconds})
    names = (*_OWNER, "resource_type")
    return [
        {"day": asked.start, **dict(zip(names, key, strict=True)), **{name: found[name][key] for name in SUMS}}
        for key in keys
    ]


def _write(day: int, rows: Sequence[dict[str, Any]], connection: Connection) -> int:
    """Write the rows of a day, unless another manager has done that; return 1 if they are written."""
    before = find_progress(connection, DAYS, lock=True)
    if before is None or before.position != day:
        return 0
    if rows:
        connection.execute(insert(usage_days), rows)
    save_progress(connection, before, Progress(DAYS, before.since, day + DAY))
    return 1


# ---------------------------------------------------------------- no-shows


def _settle(db: Database, now: int) -> bool:
    """Add the next reservations that are over and that nobody has used to the sums; say whether there were any.

    Nothing of them can change any more, and all that they held lies in days that are summed.
    """
    with db.reading() as connection:
        done = find_progress(connection, DAYS)
        over = [] if done is None else _over(connection, done.position - MARGIN)
        if done is None or not over:
            return False
        used = used_among(connection, [each for _, each in over])
        idle = [each for each in over if each[1] not in used]
        seconds = _no_shows(connection, idle, done.position, now)
    db.transact(partial(_write_settled, used, [each for _, each in idle], seconds))
    return True


def _over(connection: Connection, moment: int) -> list[tuple[str, str]]:
    """Return the ids of leases and their reservations that were over at a moment, the oldest first."""
    terms = usage_terms.c
    query = select(terms.lease_id, terms.reservation_id).where(terms.unused == PENDING, terms.over_at <= moment)
    rows = connection.execute(query.order_by(terms.over_at).limit(BATCH))
    return [(row.lease_id, row.reservation_id) for row in rows]


def _no_shows(connection: Connection, owners: Sequence[tuple[str, str]], end: int, now: int) -> Mapping[Key, int]:
    """Return the active time in which somebody looked, by project, user, day and type."""
    found: Counter[Key] = Counter()
    start = first_day(connection)
    if start is not None:
        for part in watched_parts(connection, Asked(start, end, now, Group.DAY, most=ALL)):
            found.update(active_of(connection, part, owners, *_OWNER))
    return found


def _write_settled(
    used: Collection[str], idle: Collection[str], seconds: Mapping[Key, int], connection: Connection
) -> None:
    """Write which reservations are settled, and add their no-shows; nothing if one has been settled meanwhile."""
    terms = usage_terms.c
    still = (terms.reservation_id.in_([*used, *idle]), terms.unused == PENDING)
    locked = connection.scalars(select(terms.reservation_id).where(*still).with_for_update()).all()
    if len(locked) < len(used) + len(idle):
        return
    for which, state in ((used, None), (idle, SUMMED)):
        connection.execute(update(usage_terms).where(terms.reservation_id.in_(which)).values(unused=state))
    rows = [
        {"of_project": project, "of_user": user, "of_day": day, "of_type": kind, "more": each}
        for (project, user, day, kind), each in seconds.items()
    ]
    if rows:
        connection.execute(_ADD, rows)


_ADD = (
    update(usage_days)
    .where(
        usage_days.c.day == bindparam("of_day"),
        usage_days.c.project_id == bindparam("of_project"),
        usage_days.c.user_id == bindparam("of_user"),
        usage_days.c.resource_type == bindparam("of_type"),
    )
    .values(no_show=usage_days.c.no_show + bindparam("more"))
)
