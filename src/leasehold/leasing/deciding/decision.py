"""What was decided about a lease, and the one way in which that is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from leasehold.db.allocation import end_allocations, insert_allocations, move_allocations
from leasehold.db.idempotency import keep_key
from leasehold.db.leases.lease import insert_lease, save_lease, with_allocations
from leasehold.db.outbox import put_event
from leasehold.db.task import LEASE, add_task, finish_task, hurry_with
from leasehold.db.together import together
from leasehold.db.waiting import hurry_tries
from leasehold.leasing.deciding.flags import put_flag_event
from leasehold.leasing.deciding.promised import write_moves
from leasehold.model.segment import Cause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextvars import Context
    from datetime import datetime

    from leasehold.db.allocation import Shift
    from leasehold.db.task import Claim
    from leasehold.db.together import Writer
    from leasehold.leasing.deciding.calendars import Calendars
    from leasehold.leasing.deciding.promised import Promised
    from leasehold.leasing.locks import Locks
    from leasehold.model.allocation import Allocation, Pick
    from leasehold.model.draft import Once
    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window

    Write: TypeAlias = Callable[[Locks], object]
    """Writes something under these locks; `Decision` moves the pools afterwards."""
    News: TypeAlias = str | tuple[str, Mapping[str, Any]]
    """An event of the lease as it is then, with more that it says."""
    Taken: TypeAlias = tuple[str, str, Window, Sequence[Pick]]
    """The id of a reservation, and what it has of a pool in a window."""
    Beside: TypeAlias = Callable[[Writer, Lease], object]
    """Writes rows beside those of the lease as it is then, by the same statement where the database can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of a lease under these locks; nothing of it is written yet.

    `before` is the lease as it was; None: it is new. It gets what is `promised`; what it `ends` it has no longer, for
    anybody to use if that is `released`; what of it is to `stay` gets other windows; and `writes` change all else: with
    `rereads` they change what this lease has, and `keeps` says what it has then. Its task is `due` then; None leaves
    that as it is, but for a `claim`, which is finished, with the `error` of a try in vain. `tries` are leases that wait
    and are tried now, and with `frees` all that wait for the pools. Other leases change `also`; one that is `alone`
    changes others by what it `writes`. Rows `beside` those of the lease change nothing for others.
    """

    locks: Locks
    lease: Lease
    before: Lease | None = None
    promised: Promised | None = None
    ends: Sequence[Allocation] = ()
    released: bool = False
    stay: Sequence[Shift] = ()
    writes: Sequence[Write] = ()
    keeps: Sequence[Taken] = ()
    rereads: bool = False
    news: Sequence[News] = ()
    due: datetime | None = None
    claim: Claim | None = None
    error: str | None = None
    tries: Sequence[str] = ()
    frees: bool = False
    also: Sequence[Decision] = ()
    alone: bool = False
    beside: Sequence[Beside] = ()

    def write(self, calendars: Calendars, once: Once | None = None) -> Lease:
        """Write all of it and move the pools, unless nothing changes in them; return the lease as it is then.

        `once` is the request that asked for it, which is then known to be carried out.
        """
        rows, lease = self.write_rows(once)
        for each in self.also:
            each.write_rows()
        if self.frees or self.promised is not None or self.writes or self.stay or self.ends:
            self.locks.move(freed=self.frees)
        if self.only_grants:
            calendars.note(self.locks.pools, rows)
        return lease

    @property
    def only_grants(self) -> bool:
        """Whether nothing changes for others but that the lease gets what it is promised."""
        others = self.writes or self.stay or self.ends or self.also
        return self.promised is not None and not (self.promised.room.moves or others)

    @property
    def joins(self) -> bool:
        """Whether it may be written together with others: no other lease changes."""
        moved = self.promised is not None and self.promised.room.moves_others
        return not (moved or self.alone or self.also or self.tries or self.rereads)

    @property
    def taken(self) -> Iterator[Taken]:
        """What the lease has then, as far as that is decided here."""
        if self.promised is not None:
            for part, asked, window, picks in self.promised.parts(self.lease):
                yield part.id, asked.kind.pool, window, picks
        yield from self.keeps

    def write_rows(self, once: Once | None = None) -> tuple[Sequence[Sequence[Any]], Lease]:
        """Write this about one lease, and leave the pools to the caller.

        Return the rows of what is promised, and the lease as it is then.
        """
        connection, lease = self.locks.connection, self.lease
        if self.before is None:
            with together(connection) as writes:
                self.put(lease, once, writes)
        _end([self], self.locks)
        for write in self.writes:
            write(self.locks)
        rows: Sequence[Sequence[Any]] = ()
        if self.promised is not None:
            write_moves(self.promised.room.moves, self.locks)
            rows = insert_allocations(connection, self.promised.grants(self.locks, lease), Cause.GRANTED)
        if self.before is not None:
            lease = with_allocations(connection, lease)[0] if self.rereads else lease
            with together(connection) as writes:
                lease = self.put(lease, once, writes)
        hurry_tries(connection, self.tries, self.locks.now)
        return rows, lease

    def put(self, lease: Lease, once: Once | None, writes: Writer) -> Lease:
        """Write the lease, its task, what is told of it, and what stays of what it has; return it as it is then."""
        if self.before is not None:
            for shift in self.stay:
                move_allocations(self.locks.connection, shift, self.locks.next(shift.pool), self.locks.now, writes)
            return self._save(self.before, lease, once, writes)
        insert_lease(writes, lease)
        add_task(writes, LEASE, lease.id, self.due or self.locks.now, lease.project_id)
        self._tell(writes, lease, once)
        return lease

    def _save(self, before: Lease, after: Lease, once: Once | None, writes: Writer) -> Lease:
        """Write the lease, its task and what is told of it; return it as it is then.

        With other allocations it is saved even if nothing else changes: a step in progress then sees a new generation,
        and knows that it worked with outdated ones.
        """
        lease = save_lease(writes, before, after, self.locks.now)
        if self.claim is not None:
            finish_task(writes, self.claim, self.due, error=self.error)
        elif self.due is not None:
            hurry_with(writes, LEASE, lease.id, self.due)
        self._tell(writes, lease, once)
        put_flag_event(writes, before, lease, self.locks.now)
        return lease

    def _tell(self, connection: Writer, lease: Lease, once: Once | None) -> None:
        now = self.locks.now
        for each in self.news:
            event, more = (each, None) if isinstance(each, str) else each
            put_event(connection, event, lease, now, more)
        for write in self.beside:
            write(connection, lease)
        if once is not None:
            keep_key(connection, once.project_id, once.key, once.digest, lease.id, now)


def write_together(
    decided: Sequence[tuple[Decision, Once | None, Context]], locks: Locks, calendars: Calendars
) -> list[Lease]:
    """Write decisions under the same locks, each in its context, and move the pools; return the leases as they are.

    Takes one statement for each table with new rows, and one to end what leases have no longer.
    """
    decisions = [decision for decision, _, _ in decided]
    _end(decisions, locks)
    for decision, _, context in decided:
        for write in decision.writes:
            context.run(write, locks)
    with together(locks.connection) as writes:
        after = [context.run(decision.put, decision.lease, once, writes) for decision, once, context in decided]
    grants = [grant for each in decisions if each.promised for grant in each.promised.grants(locks, each.lease)]
    rows = insert_allocations(locks.connection, grants, Cause.GRANTED)
    locks.move(freed=any(each.frees for each in decisions))
    if all(each.only_grants for each in decisions):
        calendars.note(locks.pools, rows)
    return after


def _end(decisions: Sequence[Decision], locks: Locks) -> None:
    """End what leases have no longer, by one statement for each pool and whether it is released."""
    for pool in locks.pools:
        for released in (True, False):
            ends = [held for each in decisions if each.released is released for held in each.ends if held.pool == pool]
            if ends:
                end_allocations(locks.connection, ends, locks.next(pool), locks.now, Cause.DELETED, released=released)
