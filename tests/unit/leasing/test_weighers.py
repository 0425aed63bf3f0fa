"""The weigher of the configuration orders what every decision picks (feature C8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.calendar.weighing import FirstFit, LeastUsed, Spread, Weighers
from leasehold.leasing.deciding.calendars import Calendars
from tests.factory import floating_ips, hosts, instances

if TYPE_CHECKING:
    from tests.factory import World


def weighed(world: World, weighers: Weighers) -> World:
    """Return the same world with a service that uses these weighers."""
    return replace(world, service=replace(world.service, calendars=Calendars(weighers)))


def test_hosts_are_taken_in_turn(world: World) -> None:
    own = weighed(world, Weighers(LeastUsed()))
    found = [own.holds(own.lease(hosts(1), start=2 * turn, end=2 * turn + 1)) for turn in range(5)]
    assert len({label for each in found for label in each}) == 5
    plain = [world.holds(world.lease(hosts(1), start=40 + 2 * turn, end=41 + 2 * turn)) for turn in range(3)]
    assert plain[0] == plain[1] == plain[2]


def test_a_type_has_a_weigher_of_its_own(world: World) -> None:
    own = weighed(world, Weighers(FirstFit(), {"virtual:instance": Spread()}))
    first, second = (own.holds(own.lease(instances(1), start=1, end=2)) for _ in range(2))
    assert first.keys().isdisjoint(second)
    taken = (own.holds(own.lease(hosts(1), start=start, end=start + 1)) for start in (4, 6))
    assert len({label for each in taken for label in each}) == 1
    addresses = own.holds(own.lease(floating_ips(2), start=1, end=2))
    assert list(addresses) == sorted(addresses)


def test_healing_and_amendments_ask_the_same_weigher_and_keep_what_is_held(world: World) -> None:
    own = weighed(world, Weighers(Spread()))
    lease = own.lease(hosts(1), start=0.5, end=2)
    (label,) = own.holds(lease)
    blocker = own.lease(hosts(1), start=3, end=4)
    assert own.holds(own.amend(lease, end=own.hour(2.5))) == {label: 1}
    own.fail(label)
    (other,) = own.holds(lease)
    assert other not in {label, *own.holds(blocker)}
