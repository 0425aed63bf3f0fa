"""Feature J2: what enrolled hosts have is read again; what no longer fits is healed, and never silently overbooked."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, update

from leasehold.cloud.ports import Flavor
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox import tables as sandbox
from leasehold.conf.settings import LeaseSettings, ManagerSettings
from leasehold.db.tables import outbox
from leasehold.leasing.resources.survey import beyond
from leasehold.manager.monitor import Monitor
from leasehold.model.allocation import Allocation
from leasehold.model.errors import NotEnoughError
from leasehold.model.resource import HOST, HOST_POOL, Resource
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.windows import Window
from leasehold.resource_types.flavor.driver import FlavorDriver
from leasehold.resource_types.flavor.kind import FlavorKind
from leasehold.resource_types.host.kind import HostKind
from tests.factory import START, flavors, hosts, instances, run_for, run_manager
from tests.stateful.audit import audit
from tests.unit.leasing.test_heal import flags
from tests.unit.leasing.test_heal_missing import MISSING, WHOLE
from tests.unit.leasing.test_plugin_bugs import broken, buggy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.factory import World

pytestmark = pytest.mark.slow

GRACE = 90
BIG = '["in", "$hypervisor_hostname", "cmp-01", "cmp-02"]'


@dataclass
class Site:
    """A world whose monitor reads every host at every check, once a minute."""

    world: World
    monitor: Monitor = field(init=False)

    def __post_init__(self) -> None:
        settings = ManagerSettings(failure_grace_seconds=GRACE, reread_seconds=60)
        self.world = self.world.with_settings(manager=settings)
        self.monitor = Monitor(self.world.service)

    def check(self, times: int = 1) -> None:
        for _ in range(times):
            run_for(self.world, minutes=1)
            self.monitor.run_once()
            run_manager(self.world)

    def give(self, name: str, vcpus: int, **more: Any) -> None:
        before = self.world.cloud.providers.inventories(self.host(name).reference)["VCPU"]
        self.world.cloud.providers.set_inventory(
            self.host(name).reference, "VCPU", replace(before, total=vcpus, **more)
        )

    def set_traits(self, name: str, *traits: str) -> None:
        """Give a host exactly these traits."""
        table, providers = sandbox.traits, sandbox.providers
        number = select(providers.c.id).where(providers.c.name == self.host(name).reference).scalar_subquery()
        self.world.execute(delete(table).where(table.c.provider_id == number))
        for each in traits:
            self.world.execute(insert(table).values(provider_id=number, trait=each))

    def set_hypervisor(self, name: str, **columns: Any) -> None:
        """Change what Nova tells of a host."""
        table = sandbox.hypervisors
        self.world.execute(update(table).where(table.c.hypervisor_hostname == name).values(**columns))

    def host(self, name: str) -> Resource:
        return next(each for each in self.world.listed() if each.label == name)

    def told(self) -> list[str]:
        with self.world.service.db.reading() as connection:
            query = select(outbox.c.event_type).where(outbox.c.event_type == "resource.changed")
            return list(connection.execute(query).scalars())


@pytest.fixture
def site(world: World) -> Site:
    return Site(world)


def test_more_counts_at_the_next_check_and_is_told_once(site: Site) -> None:
    with pytest.raises(NotEnoughError):
        site.world.lease(instances(3, 8, resource_properties=BIG), start=1, end=2)
    site.give("cmp-01", 16)
    site.check(2)
    assert (site.host("cmp-01").capacity["VCPU"], len(site.told())) == (16, 1)
    assert site.world.lease(instances(3, 8, resource_properties=BIG), start=1, end=2)
    audit(site.world)


def test_less_counts_after_the_grace_period_and_a_hiccup_does_not(site: Site) -> None:
    for _ in range(2):
        site.give("cmp-01", 2)
        site.check()
        site.give("cmp-01", 8)
        site.check()
    assert (site.host("cmp-01").capacity["VCPU"], site.told()) == (8, [])
    site.give("cmp-01", 2)
    site.check(2)
    assert site.host("cmp-01").capacity["VCPU"] == 8
    site.check()
    assert (site.host("cmp-01").capacity["VCPU"], len(site.told())) == (2, 1)
    with pytest.raises(NotEnoughError):
        site.world.lease(instances(2, 8, resource_properties=BIG), start=1, end=2)


def test_a_host_whose_inventories_are_gone_keeps_what_it_had(site: Site) -> None:
    before = site.host("cmp-01")
    for name in ("VCPU", "MEMORY_MB", "DISK_GB"):
        site.world.cloud.providers.remove_inventory("cmp-01", name)
    site.check(4)
    assert site.host("cmp-01") == before


def test_what_no_longer_fits_moves_the_newest_first(site: Site) -> None:
    leases = [site.world.lease(instances(1, 4, resource_properties=BIG), start=1, end=2) for _ in range(2)]
    (name,) = {host for lease in leases for host in site.world.holds(lease)}
    other = {"cmp-01": "cmp-02", "cmp-02": "cmp-01"}[name]
    site.give(name, 4)
    site.check(3)
    assert [site.world.holds(lease) for lease in leases] == [{name: 1}, {other: 1}]
    assert [flags(site.world, lease) for lease in leases] == [WHOLE, WHOLE]
    assert site.host(name).changed_at is None
    audit(site.world)


def test_what_has_begun_stays_and_says_so_until_it_fits_again(site: Site) -> None:
    running = site.world.active(instances(2, 4, resource_properties=BIG, affinity=True), end=4)
    server = site.world.boot(running)
    (name,) = site.world.holds(running)
    later = site.world.lease(
        instances(1, 4, resource_properties=f'["=", "$hypervisor_hostname", "{name}"]'), start=5, end=6
    )
    site.give(name, 4)
    site.check(3)
    assert (site.world.holds(running), flags(site.world, running)) == ({name: 2}, MISSING)
    assert (site.world.holds(later), flags(site.world, later)) == ({name: 1}, WHOLE)
    assert server.id in site.world.servers()
    site.give(name, 8)
    site.check()
    assert (site.world.holds(running), flags(site.world, running)) == ({name: 2}, WHOLE)
    assert site.host(name).changed_at is None


def test_what_fits_nowhere_is_given_up_and_comes_when_there_is_room(site: Site) -> None:
    lease = site.world.lease(instances(2, 8, resource_properties=BIG), start=0.5, end=2)
    site.give("cmp-01", 7)
    site.check(3)
    assert (site.world.holds(lease), flags(site.world, lease)[0]) == ({"cmp-02": 1}, True)
    site.give("cmp-01", 9)
    site.check(2)
    assert (site.world.holds(lease), flags(site.world, lease)) == ({"cmp-01": 1, "cmp-02": 1}, WHOLE)
    audit(site.world)


def test_a_lease_that_wants_no_healing_keeps_its_place_and_says_so(site: Site) -> None:
    settings = LeaseSettings(heal_policy=HealPolicy.NEVER)
    site = Site(site.world.with_settings(leases=settings))
    lease = site.world.lease(instances(1, 8, resource_properties=BIG), start=1, end=2)
    (name,) = site.world.holds(lease)
    site.give(name, 4)
    site.check(4)
    assert (site.world.holds(lease), flags(site.world, lease)[0]) == ({name: 1}, True)


def test_one_server_that_has_become_too_big_moves(site: Site) -> None:
    lease = site.world.lease(instances(1, 4, resource_properties=BIG), start=1, end=2)
    (name,) = site.world.holds(lease)
    site.give(name, 8, max_unit=2)
    site.check(3)
    assert site.world.holds(lease) == {({"cmp-01", "cmp-02"} - {name}).pop(): 1}


def test_a_whole_host_that_is_no_longer_what_was_asked_for_is_exchanged_before_the_start(site: Site) -> None:
    eight = hosts(resource_properties='["=", "$vcpus", "8"]')
    later, running = site.world.lease(eight, start=1, end=2), site.world.active(eight, end=0.9)
    (name,), (used,) = site.world.holds(later), site.world.holds(running)
    for each in {name, used}:
        site.set_hypervisor(each, vcpus=6)
    site.check(3)
    assert site.host(name).attributes["vcpus"] == 6
    assert (site.world.holds(running), flags(site.world, running)[0]) == ({used: 1}, True)
    assert name not in site.world.holds(later)


def test_a_zone_that_was_asked_for_is_compared_and_no_other(site: Site) -> None:
    zone = site.host("cmp-01").attributes["availability_zone"]
    asked = site.world.lease(instances(resource_properties=f'["=", "$availability_zone", "{zone}"]'), start=1, end=2)
    plain = site.world.lease(instances(), start=1, end=2)
    (name,) = site.world.holds(asked)
    assert site.world.holds(plain) == {name: 1}
    site.set_hypervisor(name, zone="elsewhere")
    site.check(3)
    assert site.host(name).attributes["availability_zone"] == "elsewhere"
    assert name not in site.world.holds(asked)
    assert (site.world.holds(plain), flags(site.world, asked)) == ({name: 1}, WHOLE)


def test_the_zone_of_a_lease_is_not_that_of_its_host(site: Site) -> None:
    """Nova shows the zone of the aggregate that a host is in; while it is leased, that is the reservation's."""
    zone = site.host("cmp-01").attributes["availability_zone"]
    of_zone = hosts(resource_properties=f'["=", "$availability_zone", "{zone}"]')
    running = site.world.active(of_zone, end=2)
    (name,) = site.world.holds(running)
    later = site.world.lease(of_zone, start=3, end=4)
    assert site.world.holds(later) == {name: 1}
    (part,) = running.reservations
    site.set_hypervisor(name, zone=f"blazar_{part.id}")
    site.check(3)
    assert site.host(name).attributes["availability_zone"] == zone
    assert (site.world.holds(later), flags(site.world, running)) == ({name: 1}, WHOLE)
    site.set_hypervisor(name, zone="elsewhere")
    site.check(3)
    assert site.host(name).attributes["availability_zone"] == "elsewhere"


TRAITED = "m1.avx2"


@pytest.fixture
def traited(site: Site) -> Site:
    """Return the site with a flavor that requires AVX2 and forbids AVX512."""
    specs = {f"trait:{seed.AVX2}": "required", f"trait:{seed.AVX512}": "forbidden"}
    site.world.cloud.flavors.ensure(Flavor(TRAITED, TRAITED, 4, 2048, 20, public=True, extra_specs=specs))
    return site


@pytest.mark.parametrize("lost", [True, False], ids=["lacks a required one", "has a forbidden one"])
def test_a_flavor_whose_traits_a_host_no_longer_meets_moves_before_the_start(traited: Site, *, lost: bool) -> None:
    lease = traited.world.lease(flavors(2, TRAITED), start=1, end=2)
    (name,) = traited.world.holds(lease)
    traited.set_traits(name, *([] if lost else [seed.AVX2, seed.AVX512]))
    traited.check(3)
    assert len(traited.told()) == 1
    assert name not in traited.world.holds(lease)
    assert (sum(traited.world.holds(lease).values()), flags(traited.world, lease)) == (2, WHOLE)
    assert traited.host(name).changed_at is None
    audit(traited.world)


def test_a_flavor_that_is_used_stays_on_a_host_without_its_trait_and_says_so(traited: Site) -> None:
    running = traited.world.active(flavors(1, TRAITED), end=4)
    plain = traited.world.active(flavors(1, "m1.large"), end=4)
    server = traited.world.boot(running)
    (name,) = traited.world.holds(running)
    assert traited.world.holds(plain) == {name: 1}
    traited.set_traits(name)
    traited.check(3)
    assert (traited.world.holds(running), flags(traited.world, running)) == ({name: 1}, MISSING)
    assert flags(traited.world, plain) == WHOLE
    assert server.id in traited.world.servers()
    traited.set_traits(name, seed.AVX2)
    traited.check()
    assert (traited.world.holds(running), flags(traited.world, running)) == ({name: 1}, WHOLE)
    assert traited.host(name).changed_at is None


def test_what_stays_on_a_host_that_has_less_keeps_no_other_host_from_being_replaced(traited: Site) -> None:
    """One host of each reservation lost what was asked for, and stays; the other one fails."""
    traited.world.enrol("cmp-05")
    slots = traited.world.active(flavors(3, TRAITED), end=4)
    small, more = sorted(traited.world.holds(slots).items(), key=lambda each: each[1])
    traited.set_traits(more[0])
    traited.check(3)
    traited.world.cloud.hypervisors.fail(small[0])
    traited.check(3)
    held = traited.world.holds(slots)
    assert (held[more[0]], sum(held.values())) == (more[1], 3)
    assert small[0] not in held
    assert flags(traited.world, slots) == (True, True, True)


@pytest.mark.parametrize("change", [{"vcpus": 6}, {"zone": "elsewhere"}])
def test_a_host_that_stays_keeps_no_other_host_from_being_replaced(site: Site, change: dict[str, Any]) -> None:
    zone = site.host("cmp-01").attributes["availability_zone"]
    of_zone = f'["and", ["=", "$vcpus", "8"], ["=", "$availability_zone", "{zone}"]]'
    lease = site.world.active(hosts(2, resource_properties=of_zone), end=4)
    stays, fails = site.world.holds(lease)
    site.set_hypervisor(stays, **change)
    site.check(3)
    site.set_hypervisor("cmp-06", vcpus=8, zone=zone)
    site.check(3)
    site.world.cloud.hypervisors.fail(fails)
    site.check(3)
    assert site.world.holds(lease) == {stays: 1, "cmp-06": 1}


def test_a_change_of_a_host_leaves_it_in_its_region(site: Site) -> None:
    lease = site.world.lease(hosts(resource_properties='["==", "$region", "RegionOne"]'), start=1, end=2)
    (name,) = held = site.world.holds(lease)
    site.set_hypervisor(name, vcpus=6)
    site.check(3)
    assert site.world.holds(lease) == held


def test_a_trait_that_no_reservation_asked_for_moves_nobody(traited: Site) -> None:
    leases = [traited.world.lease(each, start=1, end=2) for each in (flavors(1, "m1.large"), instances(1, 4))]
    before = [traited.world.holds(lease) for lease in leases]
    for name in {host for held in before for host in held}:
        traited.set_traits(name)
    traited.check(3)
    assert [traited.world.holds(lease) for lease in leases] == before
    assert [flags(traited.world, lease) for lease in leases] == [WHOLE, WHOLE]


def test_a_kind_that_cannot_compare_keeps_its_place_and_no_other_from_moving(
    traited: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """What the plugin asked for is not known, and counts as met."""
    broke = traited.world.lease(flavors(1, TRAITED), start=0.4, end=0.6)
    other = traited.world.lease(hosts(resource_properties='["=", "$vcpus", "8"]'), start=0.7, end=0.9)
    (name,) = traited.world.holds(broke)
    assert traited.world.holds(other) == {name: 1}
    traited.world = broken(traited.world, buggy(FlavorKind, "fits"), FlavorDriver())
    traited.monitor = Monitor(traited.world.service)
    traited.set_traits(name)
    traited.set_hypervisor(name, vcpus=6)
    with caplog.at_level(logging.ERROR):
        traited.check(3)
    assert traited.world.holds(broke) == {name: 1}
    assert traited.world.holds(other).keys().isdisjoint({name})
    assert flags(traited.world, other) == WHOLE
    assert any("flavor:instance" in message for message in caplog.messages)


def test_a_swap_of_another_host_leaves_the_flag_of_one_that_is_less(site: Site) -> None:
    running = site.world.active(hosts(2, resource_properties='[">=", "$vcpus", "4"]'), end=2)
    less, other = sorted(site.world.holds(running))
    hypervisors = sandbox.hypervisors
    site.world.execute(update(hypervisors).where(hypervisors.c.hypervisor_hostname == less).values(vcpus=2))
    site.check(3)
    for name, missing in ((other, True), (less, False)):
        site.world.swap(running, host=name)
        assert flags(site.world, running)[0] == missing
        run_for(site.world, minutes=3)
    assert [kind for kind, _ in site.world.told(running)].count("lease.restored") == 1
    audit(site.world)


def test_a_host_behind_another_service_is_not_read(site: Site) -> None:
    """It is another host, and the audit tells."""
    change = update(sandbox.hypervisors).where(sandbox.hypervisors.c.hypervisor_hostname == "cmp-01")
    before = site.host("cmp-01")
    site.world.execute(change.values(service_host="other", vcpus=64))
    site.check(4)
    assert site.host("cmp-01") == before


def test_every_host_is_read_once_in_the_interval_and_those_in_doubt_at_every_check(world: World) -> None:
    site = Site(world)
    settings = replace(site.world.service.settings.manager, reread_seconds=180)
    site.world = site.world.with_settings(manager=settings)
    site.monitor = Monitor(site.world.service)
    for name in ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03"):
        site.give(name, 3)
    site.check(3)
    doubted = set(site.monitor.surveyor.doubted)
    assert doubted == {each.number for each in site.world.listed()}
    site.check(3)
    assert {each.capacity["VCPU"] for each in site.world.listed()} == {3}
    assert site.monitor.surveyor.doubted == {}


@pytest.mark.parametrize("more", [{"unpolled": frozenset({HOST})}, {"reread_seconds": 0.0}])
def test_the_operator_says_whether_it_is_read_again(site: Site, more: dict[str, Any]) -> None:
    settings = replace(site.world.service.settings.manager, **more)
    site.world = site.world.with_settings(manager=settings)
    site.monitor = Monitor(site.world.service)
    site.give("cmp-01", 16)
    site.check(3)
    assert site.host("cmp-01").capacity["VCPU"] == 8


def test_a_type_that_is_not_polled_keeps_its_health(site: Site) -> None:
    settings = replace(site.world.service.settings.manager, unpolled=frozenset({HOST}))
    site.world = site.world.with_settings(manager=settings)
    site.monitor = Monitor(site.world.service)
    site.world.cloud.hypervisors.fail("cmp-01")
    site.check(3)
    assert site.host("cmp-01").reservable


def test_a_cloud_that_does_not_answer_changes_nothing(site: Site) -> None:
    site.give("cmp-01", 16)
    site.world.break_down("providers.inventories")
    site.check()
    assert site.host("cmp-01").capacity["VCPU"] == 8
    site.world.cloud.faults.clear()
    site.check()
    assert site.host("cmp-01").capacity["VCPU"] == 16


# ---------------------------------------------------------------- what no longer fits, beside an oracle


def allocations() -> st.SearchStrategy[list[Allocation]]:
    def made(rows: list[tuple[int, int, int, int, bool]]) -> list[Allocation]:
        return [
            Allocation(
                key, f"r{key}", f"l{key}", HOST_POOL, 1, Window.of_seconds(_at(start), _at(start + length)), slots,
                {"VCPU": amount}, left_at=START if left else None,
            )
            for key, (start, length, slots, amount, left) in enumerate(rows)
        ]  # fmt: skip

    row = st.tuples(st.integers(-3, 5), st.integers(1, 4), st.integers(1, 2), st.integers(1, 3), st.booleans())
    return st.lists(row, max_size=6).map(made)


def _at(hour: int) -> int:
    return int(START.timestamp()) + 3600 * hour


def _used(held: list[Allocation]) -> Iterator[int]:
    for hour in range(-3, 10):
        there = [each for each in held if each.window.seconds[0] <= _at(hour) < each.window.seconds[1]]
        yield sum(each.slots * (each.demand or {})["VCPU"] for each in there)


@given(allocations(), st.integers(0, 8), st.sets(st.integers(0, 5)))
def test_what_is_kept_fits_and_nothing_more_could_be_kept(
    held: list[Allocation], capacity: int, refused: set[int]
) -> None:
    """`refused` are the keys of those whose reservation asked for something else."""
    resource = Resource(1, "1", HOST, HOST_POOL, {"VCPU": capacity}, {"VCPU": 2}, {})
    asked = {each.reservation_id: (lambda _resource, key=each.id: key not in refused) for each in held}
    over = beyond(resource, held, asked, START)
    kept, gone = [each for each in held if each not in over], [each for each in held if each.left_at is not None]
    assert not any(each in over for each in gone)
    assert not any(each.id in refused and each.left_at is None for each in kept)
    if not gone:
        assert all(used <= capacity for used in _used(kept))
    for each in over:
        too_big = (each.demand or {})["VCPU"] > 2
        hours = [h for h in range(-3, 10) if each.window.seconds[0] <= _at(h) < each.window.seconds[1]]
        taken = dict(zip(range(-3, 10), _used([*kept, each]), strict=True))
        assert each.id in refused or too_big or any(taken[hour] > capacity for hour in hours)


@given(allocations(), st.sets(st.integers(0, 5)))
def test_what_asked_for_something_else_takes_no_room_from_others(held: list[Allocation], refused: set[int]) -> None:
    resource = Resource(1, "1", HOST, HOST_POOL, {"VCPU": 4}, {"VCPU": 2}, {})
    asked = {each.reservation_id: (lambda _resource, key=each.id: key not in refused) for each in held}
    over = {each.id for each in beyond(resource, held, asked, START)}
    alone = [each for each in held if each.id not in refused or each.left_at is not None]
    named = {each.id for each in held} - {each.id for each in alone}
    assert over == named | {each.id for each in beyond(resource, alone, {}, START)}


@given(allocations())
def test_what_has_begun_and_what_is_older_comes_first(held: list[Allocation]) -> None:
    resource = Resource(1, "1", HOST, HOST_POOL, {"VCPU": 4}, {}, {})
    held = [replace(each, left_at=None, slots=1, demand={"VCPU": 4}) for each in held]
    over = {each.id for each in beyond(resource, held, {}, START)}
    for one, other in combinations(held, 2):
        together = one.window.start < other.window.end and other.window.start < one.window.end
        begun = [each.window.start <= START for each in (one, other)]
        first = other if begun == [False, True] else one
        if len(held) == 2:
            assert over == ({one.id, other.id} - {first.id} if together else set())


def test_what_was_asked_for_counts_for_whole_hosts_as_well() -> None:
    whole = Allocation(1, "r", "l", HOST_POOL, 1, Window.of_seconds(_at(1), _at(2)), 1, None)
    resource = Resource(1, "1", HOST, HOST_POOL, {"VCPU": 0}, {}, {"vcpus": 4})
    for vcpus, over in (("4", []), ("8", [whole])):
        request = HostKind().parse(hosts(resource_properties=f'["=", "$vcpus", "{vcpus}"]'))
        assert beyond(resource, [whole], {"r": partial(HostKind().fits, request)}, START) == over
