"""Pools: the row that a decision locks, and the generation that proves nobody decided in between (design §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from leasehold.books.store import GenerationRaceError
from leasehold.books.tables import pools

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import Connection

_LOCK = (
    select(pools.c.name, pools.c.generation)
    .where(pools.c.name.in_(bindparam("names", expanding=True)))
    .order_by(pools.c.name.desc())
    .with_for_update()
)
"""Always in the same order, so that nobody waits in a circle: hosts before floating IPs, so that who wants both queues
for what nearly everybody wants while holding nothing (decision 0015)."""
_READ = select(pools.c.name, pools.c.generation)
_BUMP = (
    update(pools)
    .where(pools.c.name == bindparam("pool"), pools.c.generation == bindparam("seen"))
    .values(generation=pools.c.generation + 1)
)


def create_pools(connection: Connection, names: Collection[str]) -> None:
    """Make sure the pools exist; done by migrations and tests, never by a request."""
    known = set(connection.execute(select(pools.c.name)).scalars())
    missing = [{"name": name, "generation": 0} for name in sorted(names) if name not in known]
    if missing:
        connection.execute(insert(pools), missing)


def lock_pools(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """Lock the pools until the transaction ends, always in the same order, and return their generations."""
    if not names:
        return {}
    return {row.name: row.generation for row in connection.execute(_LOCK, {"names": sorted(names)})}


def read_generations(connection: Connection) -> dict[str, int]:
    """Return the generation of each pool, without waiting for anybody."""
    return {row.name: row.generation for row in connection.execute(_READ)}


def bump_pools(connection: Connection, generations: Mapping[str, int]) -> None:
    """Move each pool from the generation that was read to the next one.

    Raises GenerationRaceError when a pool has moved meanwhile, which on Galera is the only guard there is.
    """
    for name in sorted(generations):
        if connection.execute(_BUMP, {"pool": name, "seen": generations[name]}).rowcount != 1:
            raise GenerationRaceError(name)
