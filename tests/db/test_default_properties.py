"""What a reservation has for default properties is kept with it, and who makes room keeps to it: on every database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.settings import Settings
from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.model.errors import NotEnoughError
from leasehold.model.terms.default_properties import DefaultProperties
from tests.db.examples import NOW, lease, reservation, write
from tests.factory import Clock, change_host, hosts, make_service

if TYPE_CHECKING:
    from leasehold.db.store import Database

pytestmark = pytest.mark.slow

NAMES = ("cmp-01", "cmp-02", "cmp-06")
STATES = (None, *(DefaultProperties('["==", "$é", "y"]', applied) for applied in (None, True, False)))


@pytest.mark.parametrize("first", STATES)
@pytest.mark.parametrize("then", STATES)
def test_they_are_read_as_they_were_written(
    db: Database, first: DefaultProperties | None, then: DefaultProperties | None
) -> None:
    owner = lease()
    part = reservation(owner.id, default_properties=first)
    made = db.transact(lambda connection: write(connection, id=owner.id, reservations=(part,), events=()))
    with db.reading() as connection:
        found = find_lease(connection, made.id)
    assert found is not None
    assert found.reservations[0].default_properties == first
    changed = replace(found, reservations=(replace(found.reservations[0], default_properties=then),))
    db.transact(lambda connection: save_lease(connection, found, changed, NOW))
    with db.reading() as connection:
        read = find_lease(connection, made.id)
    assert read is not None
    assert read.reservations[0].default_properties == then


def test_a_lease_makes_room_only_with_its_default_properties(database_url: str) -> None:
    wanted = {"physical:host": '["==", "$tier", "good"]'}
    settings = Settings(leases=replace(Settings().leases, default_properties_by_type=wanted))
    named = {each: hosts(1, resource_properties=f'["==", "$hypervisor_hostname", "{each}"]') for each in NAMES}
    with make_service(database_url, clock=Clock(), hosts=NAMES, settings=settings) as world:
        for name in NAMES[1:]:
            change_host(world.service, world.host(name).id, {"tier": "good"})
        first = world.lease(hosts(1), start=1, end=2)
        assert set(world.holds(first)) == {NAMES[1]}
        second = world.lease(named[NAMES[1]], start=1, end=2)
        assert [set(world.holds(each)) for each in (first, second)] == [{NAMES[2]}, {NAMES[1]}]
        with pytest.raises(NotEnoughError):
            world.lease(named[NAMES[2]], start=1, end=2)
