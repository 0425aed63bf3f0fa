"""Pools: the row that a decision locks, and the check that no other decision was made in between (design §4).

A generation alone does not prove that: a restored database, or a standby promoted without the last commits, uses the
same numbers again for other decisions. So each decision also writes a random nonce, and the row keeps the nonces of the
last `KEPT` generations. A process that knows the pool at a generation looks for that generation's nonce in the row; if
it is missing, the process loads the pool anew.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, String, bindparam, case, cast, func, insert, literal, select, update
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import IntegrityError

from leasehold.db.store import GenerationRaceError
from leasehold.db.tables import pools
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import ColumnElement, Connection, Row

    from leasehold.db.store import Database

KEPT = 128
"""After more decisions of other processes than this, a process has to load the pool's calendar anew."""
NONCE_BYTES = 8
NONCE_LENGTH = 11
UNKNOWN = "." * NONCE_LENGTH
"""Stands for the nonce of a generation that a version without nonces wrote."""

_LOCK_RANK = {HOST_POOL: 0, FLOATING_IP_POOL: 2}
_LOCK_RANK_OF_PLUGINS = 1

_STATE = (pools.c.generation, pools.c.nonces, pools.c.waiting)
_READ = select(pools.c.name, *_STATE)
_LOCK = _READ.where(pools.c.name == bindparam("pool")).with_for_update()
_KEPT_NONCES = func.substr(pools.c.nonces, bindparam("keep_from"), bindparam("keep_length"), type_=String)
_BUMP = (
    update(pools)
    .where(
        pools.c.name == bindparam("pool"),
        pools.c.generation == bindparam("seen"),
        func.substr(pools.c.nonces, 1, bindparam("proof_length")) == bindparam("proof"),
    )
    .values(generation=bindparam("next"), nonces=bindparam("added", type_=String) + _KEPT_NONCES)
)


def _head(generation: ColumnElement[int]) -> ColumnElement[str]:
    """Return what the nonces of a row begin with whose newest is of this generation."""
    return cast(generation, String) + literal(":", String)


def _begins_with(head: ColumnElement[str]) -> ColumnElement[bool]:
    return func.substr(pools.c.nonces, 1, func.length(head)) == head


_NEXT = pools.c.generation + literal(1, BigInteger)
_OLD_NONCES = func.substr(
    pools.c.nonces, func.length(_head(pools.c.generation)) + 1, (KEPT - 1) * NONCE_LENGTH, type_=String
)
_ADDED = _head(_NEXT) + bindparam("nonce", type_=String)
_MOVED_NONCES = _ADDED + _OLD_NONCES
_HAS_NEWEST = _begins_with(_head(pools.c.generation))
_MOVE = (
    update(pools)
    .where(pools.c.name == bindparam("pool"), _HAS_NEWEST)
    .values(generation=_NEXT, nonces=_MOVED_NONCES)
    .returning(*_STATE)
)
# MariaDB returns rows from an INSERT only. It sets columns one after the other: the second sees the new nonces.
_MOVE_ON_MARIADB = (
    mysql.insert(pools)
    .values(name=bindparam("pool"), generation=0, nonces="")
    .on_duplicate_key_update(
        [
            ("nonces", case((_HAS_NEWEST, _MOVED_NONCES), else_=pools.c.nonces)),
            ("generation", case((_begins_with(_ADDED), _NEXT), else_=pools.c.generation)),
        ]
    )
    .returning(*_STATE)
)


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool's row at one moment: its generation, and its `nonces` as stored.

    `nonces` is `<generation of the newest>:` and then the nonces of `KEPT` generations, newest first; "" if there are
    none. The newest may be older than the row's generation: a version without nonces does not write any.
    `waiting` says that a lease may wait for resources of the pool.
    """

    generation: int
    nonces: str
    waiting: bool = False

    def follows(self, earlier: PoolState) -> bool:
        """Say whether the pool has certainly moved from `earlier` to this state without losing a decision."""
        newest = earlier._newest()
        if newest is None or self.generation < earlier.generation:
            return False
        if self._nonce(newest) != earlier._nonce(newest):
            return False
        # An older version's generations have no nonce; a nonce there shows that they were lost and used again.
        return all(self._nonce(each) is None for each in range(newest + 1, earlier.generation + 1))

    def is_same(self, other: PoolState) -> bool:
        """Say whether both are certainly one decision's; how many nonces of earlier ones each has does not count."""
        nonce = self._nonce(self.generation)
        return self.generation == other.generation and nonce is not None and nonce == other._nonce(other.generation)

    def before(self) -> PoolState:
        """Return the state before the decision that wrote the newest nonce, without the oldest nonce that it had."""
        generation = self.generation - 1
        return PoolState(generation, f"{generation}:{self.nonces[self._begin + NONCE_LENGTH :]}", self.waiting)

    def bumped(self) -> dict[str, Any]:
        """Return the parameters of the statement that moves the row from exactly this state to the next."""
        newest = self._newest()
        added, begin = new_nonce(), self._begin
        if newest is None:
            kept = 0
        else:
            added += UNKNOWN * min(self.generation - newest, KEPT - 1)
            kept = KEPT * NONCE_LENGTH - len(added)
        proof = self.nonces[: begin + NONCE_LENGTH]
        return {
            "seen": self.generation,
            "proof": proof,
            "proof_length": len(proof),
            "next": self.generation + 1,
            "added": f"{self.generation + 1}:{added}",
            "keep_from": begin + 1,
            "keep_length": kept,
        }

    @property
    def _begin(self) -> int:
        """The index of the first nonce in `nonces`."""
        return self.nonces.find(":") + 1

    def _newest(self) -> int | None:
        """Return the generation of the newest nonce; None if the row has no valid one."""
        head = self.nonces.partition(":")[0]
        return int(head) if head and int(head) <= self.generation else None

    def _nonce(self, generation: int) -> str | None:
        newest = self._newest()
        if newest is None or generation > newest:
            return None
        begin = self._begin + (newest - generation) * NONCE_LENGTH
        found = self.nonces[begin : begin + NONCE_LENGTH]
        return None if found in ("", UNKNOWN) else found


def new_nonce() -> str:
    """Return a random text that is different for every decision."""
    return secrets.token_urlsafe(NONCE_BYTES)


class LockedPools(dict[str, int]):
    """The generations of the pools that a transaction has locked, by name; `states` has their rows.

    `moved` has the rows of those that the same statement has moved to the next generation.
    """

    def __init__(self, states: dict[str, PoolState], moved: dict[str, PoolState] | None = None) -> None:
        super().__init__({name: state.generation for name, state in states.items()})
        self.states = states
        self.moved = moved or {}


def lock_order(names: Iterable[str]) -> list[str]:
    """Return pools in the order in which every transaction locks them, which prevents deadlocks.

    Hosts come first and floating IPs last (decision 0015): a request for both waits for the most contended pool while
    it holds no other lock. Pools of plugins come between them, sorted by name.
    """
    return sorted(set(names), key=lambda name: (_LOCK_RANK.get(name, _LOCK_RANK_OF_PLUGINS), name))


def ensure_pools(db: Database, names: Collection[str]) -> None:
    """Make sure that the pools exist when a service starts; several processes may do so at the same time."""
    while True:
        with db.reading() as connection:
            if read_pools(connection).keys() >= set(names):
                return
        # If another process has just created one of them, the rest may still be missing: look again.
        with suppress(IntegrityError):
            db.transact(lambda connection: create_pools(connection, names))


def create_pools(connection: Connection, names: Collection[str]) -> None:
    """Make sure that the pools exist; called by migrations and service starts, never by a request."""
    known = set(connection.execute(select(pools.c.name)).scalars())
    new = sorted(set(names) - known)
    missing = [{"name": name, "generation": 0, "nonces": f"0:{new_nonce()}"} for name in new]
    if missing:
        connection.execute(insert(pools), missing)


def lock_pools(connection: Connection, names: Collection[str]) -> LockedPools:
    """Lock the pools until the transaction ends, in `lock_order`, and return their generations.

    One statement for each pool, because a database locks the rows of one statement in any order.
    """
    rows = [row for name in lock_order(names) for row in connection.execute(_LOCK, {"pool": name})]
    return LockedPools(_states(rows))


def move_pools(connection: Connection, names: Collection[str]) -> LockedPools:
    """Do as `lock_pools`, and move each pool to its next generation by the same statement.

    This is for transactions that are rolled back unless they change the pools. The generations are those from before,
    as `lock_pools` returns them, and `bump_pools` then finds nothing left to do. The lock keeps every other transaction
    of this node from the row, and on Galera the write conflicts with that of any other node, whenever it is made. A row
    that a version without nonces wrote is only locked.
    """
    move = _MOVE_ON_MARIADB if connection.dialect.name == "mysql" else _MOVE
    states: dict[str, PoolState] = {}
    moved: dict[str, PoolState] = {}
    for name in lock_order(names):
        nonce = new_nonce()
        row = connection.execute(move, {"pool": name, "nonce": nonce}).first()
        after = None if row is None else _state(*row)
        if after is not None and after.nonces.startswith(f"{after.generation}:{nonce}"):
            states[name], moved[name] = after.before(), after
        else:
            states |= _states(connection.execute(_LOCK, {"pool": name}))
    return LockedPools(states, moved)


def read_pools(connection: Connection) -> dict[str, PoolState]:
    """Return the state of each pool, without waiting for a lock."""
    return _states(connection.execute(_READ))


def _states(rows: Iterable[Row[Any, Any, Any, Any]]) -> dict[str, PoolState]:
    return {name: _state(*state) for name, *state in rows}


def _state(generation: int, nonces: str, waiting: object) -> PoolState:
    return PoolState(generation, nonces, bool(waiting))


def bump_pools(connection: Connection, locked: LockedPools) -> None:
    """Move each pool from the generation that was read to the next one, unless `move_pools` has done so.

    Raises GenerationRaceError when a pool has moved meanwhile. On Galera this check is the only guard.
    """
    for name in lock_order(locked):
        moved = name in locked.moved
        if not moved and connection.execute(_BUMP, {"pool": name, **locked.states[name].bumped()}).rowcount != 1:
            raise GenerationRaceError(name)
