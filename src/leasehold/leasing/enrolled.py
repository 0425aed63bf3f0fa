"""The enrolled resources as a process keeps them between questions: what has changed since is read, and no more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.db.resources.resource import changed_resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.db.pool import PoolState
    from leasehold.model.resource import Resource

_NEVER = -1
"""Before the first generation: all resources have changed since."""


@dataclass(frozen=True, slots=True)
class _PoolResources:
    """The resources of a pool in one of its states, by number, in the order of their enrolment."""

    state: PoolState
    resources: Mapping[int, Resource]


@dataclass(slots=True)
class Enrolled:
    """Keeps the enrolled resources of each pool, for questions that promise nothing.

    Threads may ask at the same time: what is kept is replaced as a whole, and only saves reading.
    """

    _pools: dict[str, _PoolResources] = field(default_factory=dict)

    def of(self, connection: Connection, pool: str, state: PoolState) -> Sequence[Resource]:
        """Return the resources of a pool in this state, which `connection` has read in the same snapshot.

        Takes no statement if the pool has not moved, and two at most. A state that is not provably a later one of the
        same pool (`PoolState.follows`) makes it read all of them.
        """
        kept = self._pools.get(pool)
        if kept is None or not kept.state.is_same(state):
            kept = self._pools[pool] = self._read(connection, pool, state, kept)
        return list(kept.resources.values())

    @staticmethod
    def _read(connection: Connection, pool: str, state: PoolState, kept: _PoolResources | None) -> _PoolResources:
        later = kept is not None and state.follows(kept.state)
        since, found = (kept.state.generation, dict(kept.resources)) if kept and later else (_NEVER, {})
        for each in changed_resources(connection, pool, since):
            if each.deleted_at is None:
                found[each.number] = each
            else:
                found.pop(each.number, None)
        return _PoolResources(state, dict(sorted(found.items())))
