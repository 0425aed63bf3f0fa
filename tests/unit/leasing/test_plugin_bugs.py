"""A plugin that raises what its contract forbids: no other type, reservation, lease or finding has to suffer for it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.versions import Version
from leasehold.api.views.lease import show_lease
from leasehold.cloud.ports import Cloud, CloudTransientError
from leasehold.features.audit.job import reconcile
from leasehold.leasing.steps.leftovers import remove_leftovers
from leasehold.model.caller import EVERYTHING
from leasehold.resource_types.capabilities import Audited, CleaningUp, MakingWay, Marking, Reporting
from leasehold.resource_types.flavor.driver import FlavorDriver
from leasehold.resource_types.flavor.kind import FlavorKind
from leasehold.resource_types.registry import ResourceType
from tests.factory import flavors, hosts, instances, run_manager, run_until
from tests.stateful.audit import audit
from tests.unit.leasing.badges import BADGE, BADGES, BadgeDriver, BadgeKind, badges, with_badges, with_types
from tests.unit.leasing.looking import AT_ONCE, findings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.factory import World

pytestmark = pytest.mark.slow


def bug(*_args: Any, **_more: Any) -> Any:
    message = "a bug"
    raise RuntimeError(message)


def not_yet(*_args: Any, **_more: Any) -> Any:
    message = "not yet"
    raise CloudTransientError(message)


def buggy(base: type[Any], *verbs: str, has: Sequence[type[Any]] = (), **more: Callable[..., Any]) -> Any:
    """Return a kind or a driver, with more abilities, whose methods of these names raise what no plugin may raise."""
    return type(f"Buggy{base.__name__}", (base, *has), {**dict.fromkeys(verbs, bug), **more})()


def broken(world: World, kind: Any, driver: Any) -> World:
    plugin = ResourceType(kind, driver)
    return with_types(world, {**world.service.types.by_name, plugin.name: plugin})


@pytest.fixture
def raising(world: World) -> World:
    """Return a world with badges whose driver raises in everything that the core asks about resources."""
    return broken(
        with_badges(world),
        BadgeKind(),
        buggy(BadgeDriver, "reports", "audit", "objects", "remove", has=(Reporting, Audited, Marking)),
    )


def test_hosts_are_still_watched_and_healed(raising: World) -> None:
    lease = raising.active(hosts(), end=2)
    raising.fail("cmp-01")
    assert raising.holds(lease) == {"cmp-02": 1}


def test_hosts_are_still_audited_and_the_plugin_is_named(raising: World) -> None:
    raising.cloud.aggregates.remove_host("freepool", "cmp-01")
    found = {each.kind.value: each for each in findings(raising)}
    assert found.keys() == {"place", "plugin"}
    assert BADGE in found["plugin"].what
    assert found["plugin"].mend is None


def test_leftovers_of_the_other_types_are_still_removed(raising: World) -> None:
    lease = raising.active(hosts(), end=2)
    raising.delete(lease)
    run_manager(raising)
    part = lease.reservations[0].id
    raising.cloud.aggregates.ensure(part, None, {raising.service.settings.cloud.owner_key: "demo"})
    assert remove_leftovers(raising.service, part) == f"Removed: aggregate {part}."


def test_a_driver_that_cannot_converge_is_a_finding_and_the_audit_goes_on(world: World) -> None:
    world = with_badges(world)
    badge, other = world.active(hosts(), badges(), end=2), world.active(hosts(), end=2)
    for lease in (badge, other):
        part = lease.reservations[0].id
        world.cloud.aggregates.ensure(part, f"blazar_{part}", {"blazar:owner": "somebody"})
    found = {
        (each.kind.value, each.subject): each
        for each in findings(broken(world, BadgeKind(), buggy(BadgeDriver, "converge")))
    }
    assert set(found) == {("drift", badge.id), ("drift", other.id), ("plugin", badge.id)}
    finding = found["plugin", badge.id]
    for said in (BADGE, badge.reservations[1].id, "RuntimeError"):
        assert said in finding.what
    assert finding.mend is None
    world = with_types(world, {**world.service.types.by_name, BADGE: BADGES})
    assert "plugin" not in {each.kind.value for each in findings(world)}


def test_a_kind_that_cannot_show_its_reservation_keeps_no_lease_from_being_shown(world: World) -> None:
    world = with_badges(world)
    lease = world.lease(badges(), hosts(), start=0, end=2)
    world = broken(world, buggy(BadgeKind, "view"), BadgeDriver())
    shown: Any = show_lease(world.get(lease), world.service.types, Version(1, 1), EVERYTHING)
    assert [part["resource_type"] for part in shown["reservations"]] == [BADGE, "physical:host"]
    assert "min" in shown["reservations"][1]


@pytest.mark.parametrize(
    ("kind", "beside"),
    [
        (buggy(FlavorKind, "allocate"), "cmp-02"),
        (buggy(FlavorKind, "load"), "cmp-02"),
        (buggy(FlavorKind, allocate=lambda *_: [None]), "cmp-01"),
    ],
    ids=["raises", "cannot load the request", "answers nonsense"],
)
def test_a_kind_with_a_bug_keeps_no_other_lease_from_being_healed(
    world: World, caplog: pytest.LogCaptureFixture, kind: FlavorKind, beside: str
) -> None:
    """An answer that is no picks at all keeps its whole lease from being healed, and no other lease."""
    lease = world.lease(flavors(), start=0, end=2)
    both = world.lease(flavors(), instances(), start=0, end=2)
    after = world.active(instances(), end=2)
    first, second = {"cmp-01": 1}, {"cmp-02": 1}
    parts = [(lease, 0), (both, 0), (both, 1), (after, 0)]
    assert [world.holds(*part) for part in parts] == [first] * 4
    world = broken(world, kind, FlavorDriver())
    if "load" in vars(type(kind)):
        found = {(each.kind.value, each.subject) for each in findings(world)}
        assert found == {("plugin", lease.id), ("plugin", both.id)}
    world.fail("cmp-01")
    assert [world.holds(*part) for part in parts] == [first, first, {beside: 1}, second]
    assert not world.part(lease).missing_resources
    assert any(lease.id in message for message in caplog.messages)
    world = broken(world, FlavorKind(), FlavorDriver())
    world.heal()
    assert [world.holds(*part) for part in parts] == [second] * 4
    audit(world)


@pytest.mark.parametrize("waits", [False, True])
def test_a_driver_that_breaks_off_while_it_tidies_up_delays_nothing(
    world: World, caplog: pytest.LogCaptureFixture, *, waits: bool
) -> None:
    world = with_badges(world)
    lease = world.lease(badges(), hosts(), start=0, end=2)
    more = {"converge": not_yet} if waits else {}
    world = broken(world, BadgeKind(), buggy(BadgeDriver, "make_way", "started", has=(MakingWay, CleaningUp), **more))
    run_manager(world)
    assert world.part(lease, 1).id in {each.name for each in world.cloud.aggregates.list() if each.hosts}
    assert (world.status(lease) == "ACTIVE") is not waits
    assert ("Waiting for the cloud: not yet" in world.reason(lease)) is waits
    assert "A bug in site:badge" in caplog.text


class BrokenDeletes:
    """Aggregates whose `delete` raises an error that no cloud call may raise."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, verb: str) -> Any:
        return bug if verb == "delete" else getattr(self._real, verb)


def test_a_repair_that_breaks_off_leaves_the_others_to_be_done(world: World, caplog: pytest.LogCaptureFixture) -> None:
    over = world.lease(hosts(), start=0, end=1)
    run_until(world, world.hour(1.1))
    world.cloud.aggregates.ensure(over.reservations[0].id, None, {"blazar:owner": "demo"})
    world.cloud.aggregates.remove_host("freepool", "cmp-02")
    ports = {each.name: getattr(world.cloud, each.name) for each in fields(Cloud)}
    cloud = Cloud(**{**ports, "aggregates": BrokenDeletes(world.cloud.aggregates)})
    found = reconcile(replace(world.service, cloud=cloud), AT_ONCE)
    assert sorted(each.kind.value for each, _ in found) == ["leftover", "place"]
    assert "RuntimeError" in caplog.text
    run_manager(world)
    assert "cmp-02" in world.members("freepool")


def test_a_bug_in_what_is_kept_keeps_everything_until_its_time_is_over(world: World) -> None:
    slots = broken(world, FlavorKind(), buggy(FlavorDriver, "kept"))
    lease = slots.active(flavors(2, grace_seconds=1800), end=1)
    slots.boot(lease)
    run_until(slots, slots.hour(1.25))
    assert (slots.status(lease), len(slots.servers()), bool(slots.holds(lease))) == ("TERMINATING", 1, True)
    run_until(slots, slots.hour(1.5))
    assert (slots.status(lease), slots.servers()) == ("TERMINATED", set())
