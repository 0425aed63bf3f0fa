"""Resource types that are switched off or not installed while leases use them, and a plugin with its own pool."""

from __future__ import annotations

import logging
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, update

from leasehold.api.versions import Version
from leasehold.api.views.lease import show_lease
from leasehold.cloud.ports import Cloud, CloudTransientError
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import reservations, tasks
from leasehold.manager.reconciler import reconcile
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import ConflictError, InvalidInputError, NotEnoughError
from leasehold.resource_types.flavor.driver import FlavorDriver
from leasehold.resource_types.flavor.kind import FlavorKind, FlavorRequest
from leasehold.resource_types.host.driver import HostDriver
from leasehold.resource_types.host.kind import HostKind
from leasehold.resource_types.registry import ResourceType
from tests.factory import (
    NETWORK,
    TYPES,
    flavors,
    floating_ips,
    hosts,
    instances,
    next_moment_of_work,
    run_for,
    run_manager,
    run_until,
)
from tests.stateful.audit import audit
from tests.unit.leasing.badges import (
    BADGE,
    BADGES,
    BadgeDriver,
    BadgeKind,
    BadgeRequest,
    badges,
    given,
    with_badges,
    with_types,
    without,
)
from tests.unit.leasing.looking import AT_ONCE, findings, mend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.model.allocation import Pick
    from leasehold.model.lease import Lease
    from leasehold.model.refusal import Refusal
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import Job, Wanted
    from leasehold.resource_types.kind import Search
    from leasehold.resource_types.records import Records
    from tests.factory import World

FLOATING_IP = "virtual:floatingip"
ADDRESS = "203.0.113.200"
GONE = "site:gone"
MISSING = "The plugin of the resource type 'site:badge' is not installed"


def at(world: World) -> str | None:
    found = world.cloud.networks.floating_ip(NETWORK, ADDRESS)
    return None if found is None else found.project_id


def statuses(world: World, lease: Lease) -> list[str]:
    return [part.status.value for part in world.get(lease).reservations]


def orphan(world: World, lease: Lease) -> None:
    """Change the first reservation of a lease to a resource type that is not installed."""
    which = reservations.c.id == lease.reservations[0].id
    change = update(reservations).where(which).values(resource_type=GONE)
    world.service.db.transact(lambda connection: connection.execute(change))


def forgetting(world: World, name: str) -> World:
    """Return the world with this type listed in `forgotten_plugins`: its plugin will not come back."""
    manager = replace(world.service.settings.manager, forgotten_plugins=frozenset({name}))
    settings = replace(world.service.settings, manager=manager)
    return replace(world, service=replace(world.service, settings=settings))


# ---------------------------------------------------------------- switched off


@pytest.fixture
def lease(world: World) -> Lease:
    """Return an active lease of a host and an address, made before the address type is switched off."""
    made = world.lease(hosts(), floating_ips(required_floatingips=[ADDRESS]), start=0, end=2)
    run_manager(world)
    assert at(world) == "demo"
    return made


@pytest.fixture
def off(world: World, lease: Lease) -> World:
    """Return the world with the address type switched off, after the lease has started."""
    assert world.get(lease).status == "ACTIVE"
    return without(world, FLOATING_IP)


def test_a_type_that_is_switched_off_is_not_leased_any_more(off: World) -> None:
    with pytest.raises(InvalidInputError) as caught:
        off.lease(floating_ips(), start=0, end=1)
    assert caught.value.message.startswith("The resource type 'virtual:floatingip' is switched off; use one of flavor:")
    assert caught.value.field == "reservations[0].resource_type"


def test_a_lease_of_a_type_that_is_switched_off_is_shown_in_full(off: World, lease: Lease) -> None:
    shown: Any = show_lease(off.get(lease), off.service.types, Version(1, 1), EVERYTHING)
    assert shown["reservations"][1]["required_floatingips"] == [ADDRESS]


def test_a_lease_of_a_type_that_is_switched_off_ends(off: World, lease: Lease) -> None:
    run_until(off, off.hour(2.1))
    assert (off.get(lease).status, at(off)) == ("TERMINATED", None)
    assert not findings(off)


def test_a_lease_of_a_type_that_is_switched_off_is_deleted(off: World, lease: Lease) -> None:
    off.delete(lease)
    run_manager(off)
    assert (off.exists(lease), at(off)) == (False, None)
    assert not findings(off)


def test_a_lease_of_a_type_that_is_switched_off_is_amended(off: World, lease: Lease) -> None:
    assert off.amend(lease, end=3).window.end == off.hour(3)
    audit(off)


def test_a_lease_of_a_type_that_is_switched_off_is_healed(off: World, lease: Lease) -> None:
    other = off.lease(hosts(), start=0, end=2)
    run_manager(off)
    for name in (*off.holds(lease), *off.holds(other)):
        off.fail(name)
    run_for(off, minutes=10)
    off.heal()
    run_manager(off)
    assert set(off.holds(lease)) | set(off.holds(other)) == {"cmp-06", "cmp-07"}
    assert statuses(off, lease) == ["active", "active"]


def test_the_audit_looks_after_what_a_type_that_is_switched_off_has_leased(off: World, lease: Lease) -> None:
    found = off.cloud.networks.floating_ip(NETWORK, ADDRESS)
    assert found is not None
    off.cloud.networks.delete_floating_ip(found.id)
    assert [ADDRESS in each.what for each in findings(off)] == [True]
    mend(off)
    run_manager(off)
    assert at(off) == "demo"
    assert not findings(off)
    run_until(off, off.hour(2.1))
    tags = frozenset({"blazar", f"reservation:{lease.reservations[1].id}"})
    off.cloud.networks.create_floating_ip(NETWORK, seed.SUBNET_ID, ADDRESS, "demo", tags)
    assert [each.kind.value for each in findings(off)] == ["leftover"]
    mend(off)
    assert at(off) is None


def test_a_cloud_that_has_lost_its_network_service_is_not_asked_about_addresses(off: World, lease: Lease) -> None:
    calls: list[float] = []
    quiet = forgetting(off, FLOATING_IP)
    off.cloud.faults._sleep = calls.append
    off.cloud.faults.set(Fault("networks.*", latency_ms=1))
    assert not findings(quiet)
    run_until(quiet, quiet.hour(2.1))
    assert quiet.get(lease).status == "TERMINATED"
    assert not findings(quiet)
    assert not calls
    findings(off)
    assert calls


# ---------------------------------------------------------------- not installed


@pytest.fixture
def badged(world: World) -> World:
    return with_badges(world)


@pytest.fixture
def mixed(badged: World) -> Lease:
    """Return an active lease of a host and a badge, made before the badge plugin is removed."""
    made = badged.lease(hosts(), badges(), start=0, end=2)
    run_manager(badged)
    assert given(badged) == {"badge 0"}
    return made


@pytest.fixture
def bereft(badged: World, mixed: Lease) -> World:
    """Return the world without the badge plugin."""
    assert badged.get(mixed).status == "ACTIVE"
    return without(badged, BADGE)


def test_the_end_of_a_lease_gives_back_what_it_can_and_names_the_plugin_that_is_missing(
    badged: World, bereft: World, mixed: Lease
) -> None:
    (host,) = bereft.holds(mixed)
    run_until(bereft, bereft.hour(2.1))
    stuck = bereft.get(mixed)
    assert (stuck.status, statuses(bereft, mixed)) == ("ERROR", ["deleted", "error"])
    assert MISSING in (stuck.status_reason or "")
    assert host in bereft.members("freepool")
    following = bereft.lease(hosts(hypervisor_properties=f'["==", "$hypervisor_hostname", "{host}"]'), start=2.2, end=3)
    run_until(bereft, bereft.hour(2.3))
    assert bereft.get(following).status == "ACTIVE"
    assert given(bereft) == {"badge 0"}
    run_for(badged, minutes=5)
    assert (badged.get(mixed).status, given(badged)) == ("TERMINATED", set())
    audit(badged)


def test_a_lease_whose_plugin_is_missing_is_deleted_when_it_is_back(badged: World, bereft: World, mixed: Lease) -> None:
    bereft.delete(mixed)
    run_for(bereft, minutes=1)
    stuck = bereft.get(mixed)
    assert stuck.status == "DELETING"
    assert MISSING in (stuck.status_reason or "")
    assert not bereft.members(mixed.reservations[0].id)
    run_for(badged, minutes=5)
    assert (badged.exists(mixed), given(badged)) == (False, set())
    assert not findings(badged)


@pytest.mark.parametrize("way", ["end", "delete"])
def test_what_is_forgotten_for_good_lets_its_lease_go(bereft: World, mixed: Lease, way: str) -> None:
    forgetful = forgetting(bereft, BADGE)
    if way == "delete":
        forgetful.delete(mixed)
        run_manager(forgetful)
        assert not forgetful.exists(mixed)
    else:
        run_until(forgetful, forgetful.hour(2.1))
        assert forgetful.get(mixed).status == "TERMINATED"
    assert not findings(forgetful)


def test_a_lease_that_has_not_begun_is_deleted_at_once(badged: World) -> None:
    lease = badged.lease(badges(3), start=1, end=2)
    without(badged, BADGE).delete(lease)
    assert not badged.exists(lease)
    assert badged.lease(badges(3), start=1, end=2)


def test_the_start_of_a_lease_whose_plugin_is_missing_gives_it_the_rest(badged: World) -> None:
    lease = badged.lease(hosts(), badges(), start=1, end=2)
    bereft = without(badged, BADGE)
    run_until(bereft, bereft.hour(1.1))
    assert (bereft.get(lease).status, statuses(bereft, lease)) == ("ERROR", ["active", "error"])
    assert MISSING in (bereft.get(lease).status_reason or "")
    run_for(badged, minutes=5)
    assert (badged.get(lease).status, given(badged)) == ("ACTIVE", {"badge 0"})


def test_a_lease_whose_plugin_is_missing_is_renamed_and_shortened_and_else_left_as_it_is(
    bereft: World, mixed: Lease
) -> None:
    assert bereft.amend(mixed, name="renamed").name == "renamed"
    with pytest.raises(ConflictError, match=MISSING) as caught:
        bereft.amend(mixed, reservations=[{"id": mixed.reservations[1].id, "amount": 2}])
    assert caught.value.field == "reservations[0]"
    with pytest.raises(ConflictError, match=MISSING):
        bereft.amend(mixed, end=3)
    assert bereft.amend(mixed, end=1).window.end == bereft.hour(1)
    run_until(bereft, bereft.hour(1.1))
    assert statuses(bereft, mixed) == ["deleted", "error"]


def test_the_audit_names_the_plugin_that_is_missing_and_the_leases_that_need_it(
    badged: World, bereft: World, mixed: Lease
) -> None:
    (finding,) = findings(bereft)
    assert (finding.kind.value, finding.subject, finding.mend) == ("plugin", BADGE, None)
    said = "The plugin of the resource type 'site:badge' cannot be used here, and 1 lease has reservations of it"
    assert finding.what == f"{said}: {mixed.id}."
    assert "[manager] forgotten_plugins" in finding.remedy
    bereft.delete(mixed)
    run_for(bereft, minutes=1)
    assert [each.subject for each in findings(bereft)] == [BADGE]
    assert not findings(badged)


# ---------------------------------------------------------------- healing


class Clumsy(HostKind):
    """A plugin with a bug: `allocate` raises an error."""

    def allocate(self, request: Any, search: Any) -> Any:
        message = "clumsy"
        raise RuntimeError(message)


class Confused(HostKind):
    """A plugin with a bug: `allocate` returns an invalid answer."""

    def allocate(self, request: Any, search: Any) -> Any:
        return [None]


def test_a_lease_whose_plugin_is_missing_stops_no_others_healing(world: World) -> None:
    first, second = world.lease(hosts(), start=0, end=2), world.lease(hosts(), start=0, end=2)
    run_manager(world)
    lost = dict(world.holds(first))
    orphan(world, first)
    world.fail("cmp-01")
    world.fail("cmp-02")
    assert world.holds(first) == lost
    assert set(world.holds(second)) == {"cmp-06"}


@pytest.mark.parametrize("plugin", [Clumsy(), Confused()], ids=["breaks off", "answers nonsense"])
def test_a_bug_in_the_healing_of_one_lease_stops_no_others(
    world: World, caplog: pytest.LogCaptureFixture, plugin: HostKind
) -> None:
    first, second = world.lease(hosts(), start=0, end=2), world.lease(hosts(), start=0, end=2)
    run_manager(world)
    clumsy = with_types(world, {**world.service.types.by_name, GONE: ResourceType(plugin, HostDriver())})
    orphan(clumsy, first)
    clumsy.fail("cmp-01")
    clumsy.fail("cmp-02")
    assert set(clumsy.holds(second)) == {"cmp-06"}
    assert any(first.id in message for message in caplog.messages)


# ---------------------------------------------------------------- a plugin with its own pool


def test_a_plugin_with_a_pool_of_its_own_is_leased_like_any_other(badged: World) -> None:
    lease = badged.lease(badges(2), hosts(), start=0, end=1)
    with pytest.raises(NotEnoughError):
        badged.lease(badges(2), start=0, end=1)
    run_manager(badged)
    assert (badged.get(lease).status, given(badged)) == ("ACTIVE", {"badge 0", "badge 1"})
    badged.amend(lease, reservations=[{"id": lease.reservations[0].id, "amount": 3}])
    run_manager(badged)
    assert given(badged) == {"badge 0", "badge 1", "badge 2"}
    assert not findings(badged)
    badged.cloud.aggregates.delete("badge 2")
    assert [each.subject for each in findings(badged)] == [lease.id]
    mend(badged)
    run_until(badged, badged.hour(1.1))
    assert (badged.get(lease).status, given(badged)) == ("TERMINATED", set())
    again = badged.lease(badges(3), start=1.2, end=2)
    run_until(badged, badged.hour(1.3))
    badged.delete(again)
    run_manager(badged)
    assert (badged.exists(again), given(badged)) == (False, set())
    audit(badged)


# ---------------------------------------------------------------- tasks of an unknown kind


def test_work_of_an_unknown_kind_waits_for_a_version_that_knows_it(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    row = {"kind": "of tomorrow", "subject": "x", "due_at": world.now(), "attempts": 0}
    world.service.db.transact(lambda connection: connection.execute(insert(tasks), row))
    assert run_manager(world) == 1
    assert ["of tomorrow" in message for message in caplog.messages] == [True]
    due = next_moment_of_work(world)
    assert due is not None
    assert (due - world.now()).total_seconds() == world.service.settings.manager.retry_most_seconds


# ---------------------------------------------------------------- plugins with a bug


class BrokenBadgeKind(BadgeKind):
    """Badges whose kind raises an error that no plugin may raise."""

    def view(self, reservation: Reservation) -> dict[str, Any]:
        raise KeyError(reservation.id)


class BrokenBadgeDriver(BadgeDriver):
    """Badges whose driver raises an error that no plugin may raise."""

    def converge(self, cloud: Cloud, job: Job[BadgeRequest], wanted: Wanted) -> Mapping[str, Any]:
        raise ValueError(job.name)


BROKEN_BADGES = ResourceType(BrokenBadgeKind(), BrokenBadgeDriver())


class BrokenFlavors(FlavorKind):
    """Flavors whose `allocate` raises an error instead of returning picks or a refusal."""

    def allocate(self, request: FlavorRequest, search: Search[FlavorRequest]) -> Sequence[Pick] | Refusal:
        raise ZeroDivisionError


class Forgetful(FlavorKind):
    """Flavors whose kind cannot load a stored request."""

    def load(self, stored: Mapping[str, Any]) -> FlavorRequest:
        raise KeyError(stored["flavor_id"])


class Untidy(BadgeDriver):
    """Raises errors in `make_way` and `started`; with `waits`, its converge never succeeds."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits

    def converge(self, cloud: Cloud, job: Job[BadgeRequest], wanted: Wanted) -> Mapping[str, Any]:
        if self.waits:
            raise CloudTransientError("not yet")
        return super().converge(cloud, job, wanted)

    def make_way(self, cloud: Cloud, job: Job[BadgeRequest], error: CloudTransientError, records: Records) -> None:
        raise ValueError(job.name)

    def started(self, cloud: Cloud, job: Job[BadgeRequest], records: Records) -> None:
        raise ValueError(job.name)


class BrokenDeletes:
    """Aggregates whose `delete` raises an error that no cloud call may raise."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._real, verb)

    def delete(self, name: str) -> None:
        raise ArithmeticError(name)


def broken(world: World, plugin: ResourceType) -> World:
    return with_types(world, {**world.service.types.by_name, plugin.name: plugin})


def test_a_plugin_that_breaks_off_is_a_finding_and_the_audit_goes_on(world: World) -> None:
    world = with_badges(world)
    badge = world.lease(hosts(), badges(), start=0, end=2)
    other = world.lease(hosts(), start=0, end=2)
    run_manager(world)
    for lease in (badge, other):
        world.cloud.aggregates.ensure(lease.reservations[0].id, None, {})
    world = broken(world, BROKEN_BADGES)
    found = {(each.kind.value, each.subject): each for each in findings(world)}
    assert set(found) == {("drift", badge.id), ("drift", other.id), ("plugin", badge.id)}
    finding = found["plugin", badge.id]
    assert "site:badge" in finding.what
    assert badge.reservations[1].id in finding.what
    assert "ValueError" in finding.what
    assert finding.mend is None
    world = broken(world, BADGES)
    assert "plugin" not in {each.kind.value for each in findings(world)}


def test_a_plugin_that_breaks_off_keeps_no_lease_from_being_shown(world: World) -> None:
    world = with_badges(world)
    lease = world.lease(badges(), hosts(), start=0, end=2)
    world = broken(world, BROKEN_BADGES)
    shown: Any = show_lease(world.get(lease), world.service.types, Version(1, 1), EVERYTHING)
    assert [part["resource_type"] for part in shown["reservations"]] == [BADGE, "physical:host"]
    assert "min" in shown["reservations"][1]


def test_a_plugin_that_breaks_off_keeps_no_other_reservation_from_being_healed(world: World) -> None:
    lease = world.lease(flavors(), instances(), start=0, end=2)
    after = world.lease(instances(), start=0, end=2)
    run_manager(world)
    assert [world.holds(lease, 0), world.holds(lease, 1), world.holds(after)] == [{"cmp-01": 1}] * 3
    world = broken(world, ResourceType(BrokenFlavors(), FlavorDriver()))
    world.fail("cmp-01")
    assert [world.holds(lease, 0), world.holds(lease, 1), world.holds(after)] == [
        {"cmp-01": 1},
        {"cmp-02": 1},
        {"cmp-02": 1},
    ]
    assert not world.part(lease, 0).missing_resources
    world = broken(world, TYPES.get("flavor:instance"))
    assert world.heal() == 1
    assert world.holds(lease, 0) == {"cmp-02": 1}
    audit(world)


def test_a_request_that_cannot_be_loaded_keeps_nothing_else_from_being_healed_or_audited(world: World) -> None:
    lease = world.lease(flavors(), instances(), start=0, end=2)
    run_manager(world)
    world = broken(world, ResourceType(Forgetful(), FlavorDriver()))
    assert [(each.kind.value, each.subject) for each in findings(world)] == [("plugin", lease.id)]
    world.fail("cmp-01")
    assert [world.holds(lease, 0), world.holds(lease, 1)] == [{"cmp-01": 1}, {"cmp-02": 1}]


@pytest.mark.parametrize("waits", [False, True])
def test_a_driver_that_breaks_off_while_it_tidies_up_delays_nothing(
    world: World, caplog: pytest.LogCaptureFixture, *, waits: bool
) -> None:
    world = with_badges(world)
    lease = world.lease(badges(), hosts(), start=0, end=2)
    world = broken(world, ResourceType(BadgeKind(), Untidy(waits=waits)))
    run_manager(world)
    assert world.part(lease, 1).id in {each.name for each in world.cloud.aggregates.list() if each.hosts}
    assert (world.get(lease).status == "ACTIVE") is not waits
    assert ("Waiting for the cloud: not yet" in (world.get(lease).status_reason or "")) is waits
    assert "A bug in site:badge" in caplog.text


def test_a_mend_that_breaks_off_leaves_the_others_to_be_mended(world: World, caplog: pytest.LogCaptureFixture) -> None:
    over = world.lease(hosts(), start=0, end=1)
    run_until(world, world.hour(1.1))
    world.cloud.aggregates.ensure(over.reservations[0].id, None, {"blazar:owner": "demo"})
    world.cloud.aggregates.remove_host("freepool", "cmp-02")
    aggregates = BrokenDeletes(world.cloud.aggregates)
    ports = {each.name: getattr(world.cloud, each.name) for each in fields(Cloud)}
    service = replace(world.service, cloud=Cloud(**{**ports, "aggregates": aggregates}))
    found = reconcile(service, AT_ONCE)
    assert sorted(each.kind.value for each in found) == ["leftover", "place"]
    assert "ArithmeticError" in caplog.text
    run_manager(world)
    assert "cmp-02" in world.members("freepool")
