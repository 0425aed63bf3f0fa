"""Keeps what each lease was and held after each step, and compares it with what its history says later."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from leasehold.features.lease_history.store import list_changes
from leasehold.features.lease_history.use import lease_history
from leasehold.leasing.reading import queries
from leasehold.leasing.reading.lease_then import lease_as_of
from leasehold.model.errors import NotThenError
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.model.lease import Lease
    from leasehold.model.lease_then import LeaseThen
    from tests.factory import World

Held = Counter[tuple[str, int, int]]
"""How often a reservation holds so many slots of a resource, by its number."""


@dataclass
class Past:
    """What was seen: by moment the leases that there were, by id, each with what it held."""

    seen: dict[datetime, dict[str, tuple[Lease, Held]]] = field(default_factory=dict)
    ever: set[str] = field(default_factory=set)

    def look(self, world: World) -> None:
        """Keep what there is now in place of what was seen at this moment; it is in the record already."""
        now, found = world.now(), {}
        for each in list(queries.each_lease(world.service, None)):
            lease = world.get(each)
            found[lease.id] = (_bare(lease), _held(lease, now))
            with world.service.db.reading() as connection:
                last = list_changes(connection, lease.id)[-1]
            assert last.whole
            assert _bare(last.lease) == _bare(lease), "the record of its changes does not end with what it is"
        self.seen[now] = found
        self.ever |= set(found)

    def check(self, world: World) -> None:
        """Raise AssertionError if the history of a lease says anything else than what was seen.

        A step may have changed a lease once more at the moment at which it was seen, before it moved the clock.
        """
        for lease_id in self.ever:
            changes = lease_history(world.service, lease_id).changes
            newest = {each.time: each.lease.generation for each in changes}
            assert list(newest) == sorted(newest)
            for moment, found in self.seen.items():
                lease, held = found.get(lease_id, (None, Counter()))
                if lease is None:
                    with pytest.raises(NotThenError):
                        lease_as_of(world.service, lease_id, moment)
                elif newest.get(moment, 0) <= lease.generation:
                    then = lease_as_of(world.service, lease_id, moment)
                    assert _bare(then.lease) == lease, moment
                    assert _amounts(then) == held, moment


def _amounts(then: LeaseThen) -> Held:
    return Counter((each.reservation_id, each.resource_number, each.slots) for each in then.held)


def _bare(lease: Lease) -> Lease:
    """Return the lease without its allocations, with its events in an order that does not depend on the database."""
    parts = tuple(replace(part, allocations=()) for part in lease.reservations)
    return replace(lease, reservations=parts, events=tuple(sorted(lease.events, key=lambda event: event.id)))


def _held(lease: Lease, now: datetime) -> Held:
    """Return what the reservations of a lease hold at this second, as their allocations say."""
    return Counter(
        (part.id, held.resource_number, held.slots)
        for part in lease.reservations
        for held in part.allocations
        if held.left_at is None and held.window.seconds[0] <= to_seconds(now) < held.window.seconds[1]
    )
