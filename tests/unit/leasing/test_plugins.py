"""Resource types that are switched off or not installed while leases use them, and a plugin with its own pool."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, update

from leasehold.api.versions import Version
from leasehold.api.views.lease import show_lease
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import reservations, tasks
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import ConflictError, InvalidInputError, NotEnoughError
from tests.factory import NETWORK, floating_ips, hosts, next_moment_of_work, run_for, run_manager, run_until
from tests.stateful.audit import audit
from tests.unit.leasing.badges import BADGE, badges, given, with_badges, with_types, without
from tests.unit.leasing.looking import findings, mend

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

FLOATING_IP = "virtual:floatingip"
ADDRESS = "203.0.113.200"
GONE = "site:gone"
MISSING = "The plugin of the resource type 'site:badge' is not installed"


def at(world: World) -> str | None:
    found = world.cloud.networks.floating_ip(NETWORK, ADDRESS)
    return None if found is None else found.project_id


def orphan(world: World, lease: Lease) -> None:
    """Change the first reservation of a lease to a resource type that is not installed."""
    which = reservations.c.id == lease.reservations[0].id
    change = update(reservations).where(which).values(resource_type=GONE)
    world.service.db.transact(lambda connection: connection.execute(change))


def forgetting(world: World, name: str) -> World:
    """Return the world with this type listed in `forgotten_plugins`: its plugin will not come back."""
    manager = replace(world.service.settings.manager, forgotten_plugins=frozenset({name}))
    return with_types(world.with_settings(manager=manager), world.service.types.by_name)


# ---------------------------------------------------------------- switched off


@pytest.fixture
def lease(world: World) -> Lease:
    """Return an active lease of a host and an address, made before the address type is switched off."""
    made = world.active(hosts(), floating_ips(required_floatingips=[ADDRESS]), start=0, end=2)
    assert at(world) == "demo"
    return made


@pytest.fixture
def off(world: World, lease: Lease) -> World:
    """Return the world with the address type switched off, after the lease has started."""
    assert world.status(lease) == "ACTIVE"
    return without(world, FLOATING_IP)


def test_a_type_that_is_switched_off_is_not_leased_any_more(off: World) -> None:
    with pytest.raises(InvalidInputError) as caught:
        off.lease(floating_ips(), start=0, end=1)
    assert caught.value.message.startswith("The resource type 'virtual:floatingip' is switched off; use one of flavor:")
    assert caught.value.field == "reservations[0].resource_type"


@pytest.mark.parametrize("way", ["end", "delete"])
def test_a_lease_of_a_type_that_is_switched_off_is_shown_amended_and_ends(off: World, lease: Lease, way: str) -> None:
    shown: Any = show_lease(off.get(lease), off.service.types, Version(1, 1), EVERYTHING)
    assert shown["reservations"][1]["required_floatingips"] == [ADDRESS]
    assert off.amend(lease, end=3).window.end == off.hour(3)
    audit(off)
    off.delete(lease) if way == "delete" else off.clock.set(off.hour(3))
    run_manager(off)
    assert (off.exists(lease), at(off)) == (way == "end", None)
    assert not findings(off)


def test_a_lease_of_a_type_that_is_switched_off_is_healed(off: World, lease: Lease) -> None:
    other = off.active(hosts(), start=0, end=2)
    for name in (*off.holds(lease), *off.holds(other)):
        off.fail(name)
    run_for(off, minutes=10)
    off.heal()
    run_manager(off)
    assert set(off.holds(lease)) | set(off.holds(other)) == {"cmp-06", "cmp-07"}
    assert off.statuses(lease) == ["active", "active"]


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
    assert quiet.status(lease) == "TERMINATED"
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
    made = badged.active(hosts(), badges(), start=0, end=2)
    assert given(badged) == {"badge 0"}
    return made


@pytest.fixture
def bereft(badged: World, mixed: Lease) -> World:
    """Return the world without the badge plugin."""
    assert badged.status(mixed) == "ACTIVE"
    return without(badged, BADGE)


def test_the_end_of_a_lease_gives_back_what_it_can_and_names_the_plugin_that_is_missing(
    badged: World, bereft: World, mixed: Lease
) -> None:
    (host,) = bereft.holds(mixed)
    run_until(bereft, bereft.hour(2.1))
    assert (bereft.status(mixed), bereft.statuses(mixed)) == ("ERROR", ["deleted", "error"])
    assert MISSING in bereft.reason(mixed)
    assert host in bereft.members("freepool")
    following = bereft.lease(hosts(hypervisor_properties=f'["==", "$hypervisor_hostname", "{host}"]'), start=2.2, end=3)
    run_until(bereft, bereft.hour(2.3))
    assert bereft.status(following) == "ACTIVE"
    assert given(bereft) == {"badge 0"}
    run_for(badged, minutes=5)
    assert (badged.get(mixed).status, given(badged)) == ("TERMINATED", set())
    audit(badged)


def test_a_lease_whose_plugin_is_missing_is_deleted_when_it_is_back(badged: World, bereft: World, mixed: Lease) -> None:
    bereft.delete(mixed)
    run_for(bereft, minutes=1)
    assert bereft.status(mixed) == "DELETING"
    assert MISSING in bereft.reason(mixed)
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
        assert forgetful.status(mixed) == "TERMINATED"
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
    assert (bereft.get(lease).status, bereft.statuses(lease)) == ("ERROR", ["active", "error"])
    assert MISSING in bereft.reason(lease)
    run_for(badged, minutes=5)
    assert (badged.get(lease).status, given(badged)) == ("ACTIVE", {"badge 0"})


def test_a_lease_whose_plugin_is_missing_is_renamed_and_shortened_and_else_left_as_it_is(
    bereft: World, mixed: Lease
) -> None:
    assert bereft.amend(mixed, name="renamed").name == "renamed"
    with pytest.raises(ConflictError, match=MISSING) as caught:
        bereft.amend(mixed, {"amount": 2}, 1)
    assert caught.value.field == "reservations[0]"
    with pytest.raises(ConflictError, match=MISSING):
        bereft.amend(mixed, end=3)
    assert bereft.amend(mixed, end=1).window.end == bereft.hour(1)
    run_until(bereft, bereft.hour(1.1))
    assert bereft.statuses(mixed) == ["deleted", "error"]


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


def test_a_lease_whose_plugin_is_missing_stops_no_others_healing(world: World) -> None:
    first, second = world.active(hosts(), start=0, end=2), world.lease(hosts(), start=0, end=2)
    lost = dict(world.holds(first))
    orphan(world, first)
    world.fail("cmp-01")
    world.fail("cmp-02")
    assert world.holds(first) == lost
    assert set(world.holds(second)) == {"cmp-06"}


# ---------------------------------------------------------------- a plugin with its own pool


def test_a_plugin_with_a_pool_of_its_own_is_leased_like_any_other(badged: World) -> None:
    lease = badged.lease(badges(2), hosts(), start=0, end=1)
    with pytest.raises(NotEnoughError):
        badged.lease(badges(2), start=0, end=1)
    run_manager(badged)
    assert (badged.get(lease).status, given(badged)) == ("ACTIVE", {"badge 0", "badge 1"})
    badged.amend(lease, {"amount": 3})
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
