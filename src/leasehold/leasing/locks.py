"""What a transaction has locked, and the look at a lease that comes before.

Pools are locked before leases, and in the order of their names (design §4). A decision that looks at a lease before it
locks anything, to ask the cloud for example, is made again if the lease is another one by then.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from leasehold.db.leases.lease import find_lease
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.waiting import hurry_waiting
from leasehold.model.errors import BusyError, NotFoundError, StaleError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.pool import LockedPools
    from leasehold.model.lease import Lease

TRIES: Final = 5

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Locks:
    """A transaction with the pools that it has locked, by name with their generations; `now` is not before that."""

    connection: Connection
    pools: LockedPools
    now: datetime

    def next(self, pool: str) -> int:
        """Return the generation that a locked pool has after this transaction."""
        return self.pools[pool] + 1

    def move(self, *, freed: bool = False) -> None:
        """Move the pools to their next generation; if something may be `freed`, make those due who wait for it."""
        bump_pools(self.connection, self.pools)
        if freed:
            hurry_waiting(self.connection, self.pools, self.now)


def lock(connection: Connection, pools: Collection[str], clock: Callable[[], datetime]) -> Locks:
    """Lock pools, and then look at the clock: what was given up during the wait for a lock was held until then."""
    locked = lock_pools(connection, pools)
    return Locks(connection, locked, clock())


class ChangedMeanwhileError(Exception):
    """Something is not as it was when it was looked at, so this transaction writes nothing; look again."""


def look_again(lease_id: str, look: Callable[[], S], attempt: Callable[[S], T], seen: S | None = None) -> T:
    """Return what an attempt returns, each after a look at the lease; raises BusyError if it changes in all of them.

    The first attempt is about what was `seen` before, if anything was. Raises what `look` raises, and what an attempt
    raises, except for ChangedMeanwhileError.
    """
    for _ in range(TRIES):
        looked, seen = seen or look(), None
        with suppress(ChangedMeanwhileError):
            return attempt(looked)
    message = f"The lease {lease_id} keeps changing; send the request again in a moment."
    raise BusyError(message)


def look_at(connection: Connection, lease_id: str, if_generation: int | None = None, *, lock: bool = False) -> Lease:
    """Return a lease, with `lock` locked; raises NotFoundError, and StaleError when it is not of `if_generation`."""
    lease = find_lease(connection, lease_id, lock=lock)
    if lease is None:
        raise NotFoundError("lease_id", lease_id)
    if if_generation not in (None, lease.generation):
        raise StaleError
    return lease
