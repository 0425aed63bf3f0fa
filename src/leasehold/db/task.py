"""Tasks: deferred work as rows that any worker can claim (design §5).

One row per subject, so a lease has at most one task running by construction. `due_at` NULL means nothing is due.
A transaction that changes a lease also sets its task due. A worker that finishes sets the next due time only if the
lease is still as it was when the work began.

Claims are shared fairly among projects, so that thousands of tasks of one do not delay another: first the longest due
task of each project, then the second of each. Tasks without a project, such as those of hosts, count as one project.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, case, delete, func, insert, literal_column, or_, select, update

from leasehold.db.tables import tasks

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.db.together import Writer

LEASE = "lease"
END_NOTICE = "end-notice"
"""Tasks that only `claim_end_notice` claims, because a service that hangs must delay no lease (decision 0041)."""
LONGEST_ERROR = 4_000
"""In characters. MariaDB refuses texts of more than 64 KiB, and a claim that cannot be written back would be stuck."""
_FREE = or_(tasks.c.claim_until.is_(None), tasks.c.claim_until < bindparam("now"))
LOOKAHEAD = 10_000
"""How many due tasks, longest due first, one claim chooses from; this bounds its cost when more are due."""
_WAITING = (
    select(tasks.c.id, tasks.c.project_id, tasks.c.due_at)
    .where(tasks.c.due_at <= bindparam("now"), _FREE, tasks.c.kind != literal_column(f"'{END_NOTICE}'"))
    .order_by(tasks.c.due_at, tasks.c.id)
    .limit(literal_column(str(LOOKAHEAD)))
    .subquery()
)
_OWN_ORDER = func.row_number().over(partition_by=_WAITING.c.project_id, order_by=(_WAITING.c.due_at, _WAITING.c.id))
_PLACED = select(_WAITING.c.id, _WAITING.c.due_at, _OWN_ORDER.label("place")).subquery()
_DUE = select(_PLACED.c.id).order_by(_PLACED.c.place, _PLACED.c.due_at, _PLACED.c.id).limit(bindparam("most"))
_NOTICE = (
    select(tasks.c.id)
    .where(tasks.c.kind == END_NOTICE, tasks.c.due_at <= bindparam("now"), _FREE)
    .order_by(tasks.c.due_at, tasks.c.id)
    .limit(1)
)
_CLAIM = (
    update(tasks)
    .where(tasks.c.id.in_(bindparam("ids", expanding=True)), tasks.c.due_at <= bindparam("now"), _FREE)
    .values(claimed_by=bindparam("claimer"), claim_until=bindparam("until"), attempts=tasks.c.attempts + 1)
)
_CLAIMED = select(tasks).where(
    tasks.c.id.in_(bindparam("ids", expanding=True)), tasks.c.claimed_by == bindparam("claimer")
)

_ADD = insert(tasks)
_HURRY = (
    update(tasks)
    .where(tasks.c.kind == bindparam("of_kind"), tasks.c.subject == bindparam("of"))
    .values(due_at=bindparam("due"), attempts=0, refusals=0)
)
_HOLDER = select(tasks.c.claimed_by).where(tasks.c.id == bindparam("key")).with_for_update()
_FINISH = (
    update(tasks)
    .where(tasks.c.id == bindparam("key"), tasks.c.claimed_by == bindparam("claimer"))
    .values(
        claimed_by=None,
        claim_until=None,
        due_at=bindparam("due"),
        attempts=bindparam("attempts"),
        refusals=bindparam("refusals"),
        last_error=bindparam("error"),
    )
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A task that belongs to one worker until the claim expires.

    `attempts` counts this try and the failed ones before it, `refusals` how many of them the cloud refused. `made_at`
    is the worker's steady clock when it began to claim: the claim lasts at least its full time from then on.
    """

    id: int
    kind: str
    subject: str
    claimer: str
    attempts: int
    due_at: datetime
    refusals: int = 0
    made_at: float = field(default_factory=time.monotonic, compare=False)


def add_task(connection: Writer, kind: str, subject: str, due_at: datetime, project_id: str | None = None) -> None:
    """Write a task, due at a moment; `project_id` is the project whose share of the claims it counts to."""
    row = {"kind": kind, "subject": subject, "due_at": due_at, "attempts": 0, "project_id": project_id}
    connection.execute(_ADD, row)


def hurry_task(connection: Connection, kind: str, subject: str, due_at: datetime) -> bool:
    """Make a task due at a moment and reset its failures; say whether there is such a task."""
    return connection.execute(_HURRY, {"of_kind": kind, "of": subject, "due": due_at}).rowcount > 0


def hurry_with(writes: Writer, kind: str, subject: str, due_at: datetime) -> None:
    """Do as `hurry_task`, with other writes."""
    writes.execute(_HURRY, {"of_kind": kind, "of": subject, "due": due_at})


def claim_tasks(connection: Connection, claimer: str, now: datetime, lasts: timedelta, most: int) -> Sequence[Claim]:
    """Claim up to `most` due, unclaimed tasks: each project's longest due, then each project's second, and so on.

    The update is a compare-and-swap: of several workers one gets the task. `claimer` must be new for each call, because
    it identifies the rows that this call has won.
    """
    made_at = time.monotonic()
    ids = list(connection.execute(_DUE, {"now": now, "most": most}).scalars())
    return _claim(connection, ids, claimer, now, lasts, made_at) if ids else []


def is_end_notice_due(connection: Connection, now: datetime) -> bool:
    """Say whether `claim_end_notice` would find one; it takes no lock."""
    return connection.execute(_NOTICE, {"now": now}).first() is not None


def claim_end_notice(connection: Connection, claimer: str, now: datetime, lasts: timedelta) -> Claim | None:
    """Claim the end notice that has been due the longest; None if none is due, or another manager was faster."""
    made_at = time.monotonic()
    ids = list(connection.execute(_NOTICE, {"now": now}).scalars())
    claims = _claim(connection, ids, claimer, now, lasts, made_at) if ids else []
    return claims[0] if claims else None


def _claim(
    connection: Connection, ids: Sequence[int], claimer: str, now: datetime, lasts: timedelta, made_at: float
) -> Sequence[Claim]:
    """Claim those of the tasks that are still due and unclaimed, and return the claims in the order of the ids."""
    values = {"ids": ids, "now": now, "claimer": claimer, "until": now + lasts}
    if connection.execute(_CLAIM, values).rowcount == 0:
        return []
    won = {row.id: row for row in connection.execute(_CLAIMED, {"ids": ids, "claimer": claimer})}
    rows = (won[each] for each in ids if each in won)
    return [
        Claim(row.id, row.kind, row.subject, claimer, row.attempts, row.due_at, row.refusals, made_at) for row in rows
    ]


def renew_claims(connection: Connection, ids: Collection[int], claimers: Collection[str], until: datetime) -> int:
    """Extend the claims that these claimers still have, and return how many those are."""
    return connection.execute(
        update(tasks).where(tasks.c.id.in_(ids), tasks.c.claimed_by.in_(claimers)).values(claim_until=until)
    ).rowcount


def still_ours(connection: Connection, claim: Claim) -> bool:
    """Lock the task for this transaction, and say whether the claim is still valid: no other worker has taken it."""
    return connection.execute(_HOLDER, {"key": claim.id}).scalar_one_or_none() == claim.claimer


def due_anew(connection: Connection, claim: Claim) -> datetime | None:
    """Return the moment at which a claimed task was made due again while its work ran; None if it was not."""
    due: datetime | None = connection.execute(select(tasks.c.due_at).where(tasks.c.id == claim.id)).scalar_one()
    return None if due == claim.due_at else due


def finish_task(
    connection: Writer,
    claim: Claim,
    due_at: datetime | None,
    *,
    error: str | None = None,
    attempts: int = 0,
    refusals: int = 0,
) -> None:
    """Release the claim and set when the task is due next; None: not until it is made due.

    `attempts` and `refusals` are the failed tries so far. Does nothing when the claim has been lost: with other writes,
    `Together.is_complete` says so. `error` is cut to `LONGEST_ERROR`.
    """
    values = {"key": claim.id, "claimer": claim.claimer, "due": due_at, "attempts": attempts, "refusals": refusals}
    connection.execute(_FINISH, {**values, "error": None if error is None else error[:LONGEST_ERROR]})


def remove_task(connection: Connection, claim: Claim) -> bool:
    """Remove a task whose work is done for good, or release it if it was made due again while that work ran.

    Does nothing and returns False when the claim has been lost.
    """
    if not still_ours(connection, claim):
        return False
    due = due_anew(connection, claim)
    if due is None:
        connection.execute(delete(tasks).where(tasks.c.id == claim.id))
    else:
        finish_task(connection, claim, due)
    return True


def give_back(connection: Connection, claims: Collection[Claim]) -> None:
    """Release these claims at once, without counting the try as failed: their manager stops before it finished."""
    ours = (tasks.c.id.in_([each.id for each in claims]), tasks.c.claimed_by.in_({each.claimer for each in claims}))
    attempts = case((tasks.c.attempts > 0, tasks.c.attempts - 1), else_=0)
    connection.execute(update(tasks).where(*ours).values(claimed_by=None, claim_until=None, attempts=attempts))


def next_due(connection: Connection, now: datetime) -> datetime | None:
    """Return when the next unclaimed task that `claim_tasks` claims is due, None if none is."""
    query = select(func.min(tasks.c.due_at)).where(tasks.c.due_at.is_not(None), _FREE, tasks.c.kind != END_NOTICE)
    due: datetime | None = connection.execute(query, {"now": now}).scalar_one()
    return due


def add_task_once(connection: Connection, kind: str, subject: str, due_at: datetime) -> None:
    """Make a task due, writing it when it does not exist yet."""
    if not hurry_task(connection, kind, subject, due_at):
        add_task(connection, kind, subject, due_at)


def is_claimed(connection: Connection, kind: str, subject: str) -> bool:
    """Say whether a worker has claimed this task and not released it, also if the claim has expired."""
    mine = (tasks.c.kind == kind, tasks.c.subject == subject, tasks.c.claimed_by.is_not(None))
    return connection.execute(select(tasks.c.id).where(*mine)).first() is not None


def call_off_task(connection: Connection, kind: str, subject: str, due_at: datetime) -> bool:
    """Remove a task that is still due at this moment and unclaimed; say whether there was one."""
    mine = (tasks.c.kind == kind, tasks.c.subject == subject)
    untouched = (tasks.c.due_at == due_at, tasks.c.claimed_by.is_(None))
    return connection.execute(delete(tasks).where(*mine, *untouched)).rowcount > 0


def postpone_task(connection: Connection, claim: Claim, due_at: datetime, error: str) -> None:
    """Release a claim with its work unfinished, due again at a moment, or at a later one that was set meanwhile."""
    if still_ours(connection, claim):
        due = max(due_at, due_anew(connection, claim) or due_at)
        finish_task(connection, claim, due, error=error, attempts=claim.attempts, refusals=claim.refusals)
