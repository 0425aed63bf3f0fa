"""Which leases miss something, and which of them lost a resource that works again: on every database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.db.allocation import leave_allocations
from leasehold.db.leases.healing import lacking_leases, leases_that_lost, types_of
from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.resources.resource import update_resources
from leasehold.model.segment import Cause
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.windows import to_seconds
from tests.db.examples import NOW, enrol, hold, hour, hours, lease, reservation, write

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.model.lease import Lease


def flagged(db: Database, start: float, end: float, **more: Any) -> Lease:
    """Return a lease in this window, in hours from `NOW`, whose only reservation misses something."""
    owner = lease()
    part = reservation(owner.id, missing_resources=True, missing=2)
    values: dict[str, Any] = {
        "id": owner.id,
        "window": hours(start, end),
        "degraded": True,
        "reservations": (part,),
        "events": (),
    }
    return db.transact(lambda connection: write(connection, **{**values, **more}))


def saved(db: Database, before: Lease, **changes: Any) -> None:
    db.transact(lambda connection: save_lease(connection, before, replace(before, **changes), NOW))


def test_leases_that_miss_something_come_soonest_first_within_the_time_asked_for(db: Database) -> None:
    late, soon = flagged(db, 3, 5), flagged(db, 1, 5)
    flagged(db, -3, 0)
    saved(db, flagged(db, 2, 5), deleted_at=NOW)
    saved(db, flagged(db, 2, 5), degraded=False)

    def lacking(until: float | None) -> list[tuple[str, int]]:
        with db.reading() as connection:
            return list(lacking_leases(connection, NOW, None if until is None else hour(until)).items())

    expected = [(each.id, to_seconds(each.window.start)) for each in (soon, late)]
    assert lacking(None) == expected
    assert lacking(3) == expected[:1]
    assert lacking(1) == []


@pytest.mark.parametrize("cause", [Cause.HEALED, None, Cause.SWAPPED])
def test_a_lease_gets_back_what_it_lost_when_that_is_reservable_or_about_to_be(db: Database, cause: Any) -> None:
    """An older version records no cause. What was swapped away was not lost."""
    number = db.transact(lambda connection: enrol(connection, "one"))
    owner = flagged(db, 1, 5)
    lost = set() if cause is Cause.SWAPPED else {owner.id}

    def that_lost(*returning: int) -> set[str]:
        with db.reading() as connection:
            return leases_that_lost(connection, NOW, returning)

    def work(connection: Connection) -> None:
        hold(connection, owner, number)
        found = find_lease(connection, owner.id)
        assert found is not None
        leave_allocations(connection, found.reservations[0].allocations, 2, NOW, cause)
        update_resources(connection, [number], 2, reservable=False)

    db.transact(work)
    assert that_lost() == set()
    assert that_lost(number) == lost
    db.transact(lambda connection: update_resources(connection, [number], 3, reservable=True))
    assert that_lost() == lost
    db.transact(lambda connection: update_resources(connection, [number], 4, disabled=True))
    assert that_lost() == that_lost(number) == set()
    with db.reading() as connection:
        after = find_lease(connection, owner.id)
    assert after is not None
    (held,) = after.reservations[0].allocations
    assert held.given_up == (cause is Cause.SWAPPED)


def test_the_types_of_leases_and_what_healing_keeps_of_them(db: Database) -> None:
    one, two = flagged(db, 1, 2, heal_policy=HealPolicy.NEVER), flagged(db, 1, 2)
    with db.reading() as connection:
        assert types_of(connection, [one.id, two.id]) == {
            each.id: {part.resource_type for part in each.reservations} for each in (one, two)
        }
        found = find_lease(connection, one.id)
    assert found is not None
    assert (found.heal_policy, found.reservations[0].missing) == (HealPolicy.NEVER, 2)
