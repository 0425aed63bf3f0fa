"""Pools: the row that a decision locks, and the proof that nobody decided in between (design §4).

A generation alone proves little: a database that was restored, or whose standby was promoted without the last commits,
counts the same numbers once more, for other decisions. So each decision also writes a random nonce, and the row keeps
those of the last `KEPT` generations: who knows the pool at a generation finds its nonce there, or knows it no longer.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import String, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from leasehold.db.store import GenerationRaceError
from leasehold.db.tables import pools
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection, Row

    from leasehold.db.store import Database

KEPT = 128
"""So many decisions of others may pass before a process has to load the pool's calendar anew."""
NONCE_BYTES = 8
NONCE_LENGTH = 11
UNKNOWN = "." * NONCE_LENGTH
"""In place of the nonce of a generation that a version before schema 0005 wrote."""

_LOCK_RANK = {HOST_POOL: 0, FLOATING_IP_POOL: 2}
_LOCK_RANK_OF_PLUGINS = 1

_READ = select(pools.c.name, pools.c.generation, pools.c.nonces)
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


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool's row at one moment: its generation, and `nonces` as they are stored.

    That is `<generation of the newest>:` and then the nonces of `KEPT` generations, newest first; "" where there are
    none. The newest may be older than the row's generation: a version before schema 0005 does not write any.
    """

    generation: int
    nonces: str

    def follows(self, earlier: PoolState) -> bool:
        """Say whether the pool has certainly come from that earlier state to this one, with nothing lost."""
        newest = earlier._newest()
        if newest is None or self.generation < earlier.generation:
            return False
        if self._nonce(newest) != earlier._nonce(newest):
            return False
        # What an older version did has no nonce; a nonce there tells that it was undone and something else done.
        return all(self._nonce(each) is None for each in range(newest + 1, earlier.generation + 1))

    def bumped(self) -> dict[str, Any]:
        """Return the parameters of the statement that moves the row from this state, and no other, to the next."""
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
        """Where the first nonce begins."""
        return self.nonces.find(":") + 1

    def _newest(self) -> int | None:
        """Return the generation of the newest nonce; None: the row has none that belongs to it."""
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
    """Return what tells one decision from any other."""
    return secrets.token_urlsafe(NONCE_BYTES)


class LockedPools(dict[str, int]):
    """The generations of the pools that a transaction has locked, by name, and the states that prove them."""

    def __init__(self, states: dict[str, PoolState]) -> None:
        """Take the rows as they were read under the lock."""
        super().__init__({name: state.generation for name, state in states.items()})
        self.states = states


def lock_order(names: Iterable[str]) -> list[str]:
    """Return pools in the order in which everybody locks them, so that nobody waits in a circle.

    Hosts come first and floating IPs last (decision 0015): a request for both waits for the pool that nearly everybody
    wants while it holds nothing. Pools of plugins come between them, by name.
    """
    return sorted(set(names), key=lambda name: (_LOCK_RANK.get(name, _LOCK_RANK_OF_PLUGINS), name))


def ensure_pools(db: Database, names: Collection[str]) -> None:
    """Make sure that the pools exist when a service starts, whoever else does so at the same time."""
    while True:
        with db.reading() as connection:
            if read_pools(connection).keys() >= set(names):
                return
        # Where another process has just made one of them, the others are still to be made.
        with suppress(IntegrityError):
            db.transact(lambda connection: create_pools(connection, names))


def create_pools(connection: Connection, names: Collection[str]) -> None:
    """Make sure the pools exist; done by migrations and starts, never by a request."""
    known = set(connection.execute(select(pools.c.name)).scalars())
    new = sorted(set(names) - known)
    missing = [{"name": name, "generation": 0, "nonces": f"0:{new_nonce()}"} for name in new]
    if missing:
        connection.execute(insert(pools), missing)


def lock_pools(connection: Connection, names: Collection[str]) -> LockedPools:
    """Lock the pools until the transaction ends, in `lock_order`, and return their generations.

    One statement for each: in which order a database locks the rows of one statement is its own business.
    """
    rows = [row for name in lock_order(names) for row in connection.execute(_LOCK, {"pool": name})]
    return LockedPools(_states(rows))


def read_pools(connection: Connection) -> dict[str, PoolState]:
    """Return the state of each pool, without waiting for anybody."""
    return _states(connection.execute(_READ))


def _states(rows: Iterable[Row[Any, Any, Any]]) -> dict[str, PoolState]:
    return {row.name: PoolState(row.generation, row.nonces) for row in rows}


def bump_pools(connection: Connection, locked: LockedPools) -> None:
    """Move each pool from the generation that was read to the next one.

    Raises GenerationRaceError when a pool has moved meanwhile, which on Galera is the only guard there is.
    """
    for name in lock_order(locked):
        if connection.execute(_BUMP, {"pool": name, **locked.states[name].bumped()}).rowcount != 1:
            raise GenerationRaceError(name)
