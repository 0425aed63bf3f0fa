"""Notifications make the bridge look at what they concern, and only what the cloud answers counts (feature J1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oslo_config import cfg
from sqlalchemy import delete, update

from leasehold.bridge import watcher as module
from leasehold.bridge.listener import Endpoint, Listener
from leasehold.bridge.running import NOTHING_TO_DO, bridging, pushed_types
from leasehold.bridge.transport import open_bus
from leasehold.bridge.watcher import OWED_SECONDS, Watcher
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox import tables as sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.conf.errors import ConfigurationError
from leasehold.conf.settings import BridgeSettings, ManagerSettings
from leasehold.db.resources.resource import list_resources
from leasehold.model.resource import FLOATING_IP, HOST, Health
from leasehold.resource_types.capabilities import Notified
from leasehold.resource_types.enrolment import Report
from leasehold.resource_types.floatingip import load as load_address
from leasehold.resource_types.floatingip.health import CHANGES
from leasehold.resource_types.host import load as load_host
from leasehold.resource_types.registry import ResourceType
from tests.factory import NETWORK as NETWORK_ID
from tests.factory import floating_ips, hosts, live
from tests.processes import wait_for
from tests.unit.bridge.memory import configured, memory_bus
from tests.unit.leasing.badges import BADGE, BadgeDriver, BadgeKind, badges, with_badges, with_types

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from leasehold.cloud.ports import Cloud
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.resource import Resource
    from leasehold.resource_types.records import Records
    from tests.factory import World

pytestmark = pytest.mark.slow

PUSHED = BridgeSettings(pushed=frozenset({HOST}))
UNPOLLED = ManagerSettings(failure_grace_seconds=0, unpolled=frozenset({HOST}), health_seconds=3600)


def versioned(**data: Any) -> dict[str, Any]:
    """Return the payload of a `service.update` of Nova."""
    full = {"host": "cmp-01", "binary": "nova-compute", "disabled": False, "forced_down": True, **data}
    return {"nova_object.name": "ServiceStatusPayload", "nova_object.version": "1.1", "nova_object.data": full}


@pytest.fixture
def pushed(world: World) -> World:
    """A service whose hosts are not polled."""
    return world.with_settings(manager=UNPOLLED, bridge=PUSHED)


def health(world: World, name: str) -> Health:
    return next(each.health for each in world.listed() if each.label == name)


NETWORK = {"subnet": {"id": "subnet", "allocation_pools": []}}
ONLY_HOSTS, ONLY_ADDRESSES, NONE = frozenset({HOST}), frozenset({FLOATING_IP}), frozenset[str]()


def told_of(types: Collection[ResourceType], kind: Any, payload: Any) -> frozenset[str]:
    """Return which types a notification concerns, whatever its priority."""
    told: list[frozenset[str]] = []
    endpoint = Endpoint(types, lambda names: told.append(frozenset(names)))
    for priority in (endpoint.info, endpoint.warn, endpoint.error):
        priority({}, "nova-compute:cmp-01", kind, payload, {})
    assert told in ([], [told[0]] * 3 if told else [])
    return told[0] if told else NONE


@pytest.mark.parametrize(
    ("kind", "payload", "concerned"),
    [
        ("service.update", versioned(), ONLY_HOSTS),
        ("service.update", versioned(forced_down=False, disabled=True), ONLY_HOSTS),
        ("service.update", {}, ONLY_HOSTS),
        ("service.update", None, ONLY_HOSTS),
        ("service.update", {"nova_object.data": [1]}, ONLY_HOSTS),
        ("service.update", versioned(binary="nova-scheduler"), NONE),
        ("service.update", versioned(binary=["x" * 10_000]), NONE),
        ("compute.instance.update", versioned(), NONE),
        (["service.update"], versioned(), NONE),
        (None, None, NONE),
        ("floatingip.create.end", {"floatingip": {"floating_ip_address": "203.0.113.200"}}, ONLY_ADDRESSES),
        ("floatingip.delete.end", {"floatingip_id": "1"}, ONLY_ADDRESSES),
        ("subnet.update.end", NETWORK, ONLY_ADDRESSES),
        ("subnet.delete.end", None, ONLY_ADDRESSES),
        ("router.create.end", {"router": {"external_gateway_info": None}}, ONLY_ADDRESSES),
        ("router.update.end", {}, ONLY_ADDRESSES),
        ("router.delete.end", {"router_id": "1"}, ONLY_ADDRESSES),
        ("router.interface.create", {}, NONE),
        ("floatingip.create.start", {}, NONE),
        ("floatingip.update.end", {}, NONE),
        ("subnet.create.end", NETWORK, NONE),
        ("port.create.end", {}, NONE),
        ("lease.create", {}, NONE),
    ],
)
def test_a_notification_is_a_reason_to_look_at_what_it_concerns(
    world: World, kind: Any, payload: Any, concerned: frozenset[str]
) -> None:
    assert told_of(world.service.types.notified(), kind, payload) == concerned


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["nova_object.data", "binary"]), inner),
)
KINDS = st.sampled_from(["service.update", *sorted(CHANGES)])
BUILT_IN = [load_host(cfg.ConfigOpts()), load_address(cfg.ConfigOpts())]


@given(KINDS | ANYTHING, ANYTHING)
def test_whatever_is_sent_is_taken_without_an_error(kind: Any, payload: Any) -> None:
    """A driver that raised would count as concerned."""
    concerned = told_of(BUILT_IN, kind, payload)
    assert concerned <= {HOST, FLOATING_IP}
    assert not concerned or kind in {"service.update", *CHANGES}


class PushedBadges(BadgeDriver, Notified):
    """Badges are down while their aggregate is not in the cloud; who changes it says so."""

    def reports(self, cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:
        lost = {each.name for each in cloud.aggregates.list()}
        return {each.number: Report(up=f"lost {each.id}" not in lost) for each in resources}

    def concerns(self, event_type: str, payload: Mapping[str, Any]) -> bool:
        return event_type == "badge.lost" and payload["site"] == "here"


@pytest.fixture
def badged(world: World) -> World:
    """A service with a plugin that names a notification of its own, in a pool of its own."""
    pushed = BridgeSettings(pushed=frozenset({BADGE, HOST}))
    site = with_badges(world.with_settings(manager=replace(UNPOLLED, unpolled=pushed.pushed), bridge=pushed))
    return with_types(site, {**site.service.types.by_name, BADGE: ResourceType(BadgeKind(), PushedBadges())})


def test_a_plugin_names_its_own_notifications_and_only_its_resources_are_looked_at(badged: World) -> None:
    lease, other = badged.lease(badges(), start=0.5, end=1), badged.lease(hosts(), start=0.5, end=1)
    (host,) = badged.holds(other)
    badged.cloud.hypervisors.fail(host)
    badged.cloud.aggregates.ensure("lost 0", None, {})
    types = pushed_types(badged.service)
    concerned = told_of(types, "badge.lost", {"site": "here"})
    assert concerned == {BADGE}
    assert told_of(types, "badge.lost", {"site": "there"}) == NONE
    assert held_of(badged, BADGE, lease) == {"0"}
    Watcher(badged.service).run_once(concerned)
    assert held_of(badged, BADGE, lease) == {"1"}
    assert (enrolled(badged, BADGE)["0"].health, health(badged, host)) == (Health.FAILED, Health.HEALTHY)


def enrolled(world: World, type_: str) -> dict[str, Resource]:
    """Return the resources of a type by their labels."""
    with world.service.db.reading() as connection:
        return {each.label: each for each in list_resources(connection, type_)}


def held_of(world: World, type_: str, lease: Lease) -> set[str]:
    """Return the labels of what a lease of one reservation holds."""
    held = {each.resource_number for each in live(world.get(lease), world.part(lease))}
    return {label for label, each in enrolled(world, type_).items() if each.number in held}


def test_a_plugin_that_raises_is_looked_at_and_is_logged_once(badged: World, caplog: pytest.LogCaptureFixture) -> None:
    types = pushed_types(badged.service)
    assert told_of(types, "badge.lost", {"no": "site"}) == {BADGE}
    assert [each.levelname for each in caplog.records if BADGE in each.message] == ["ERROR"]
    assert told_of(types, "service.update", {"no": "site"}) == ONLY_HOSTS


@pytest.mark.parametrize("names", [{"site:bage"}, {"virtual:instance", HOST}, {BADGE}])
def test_a_type_that_cannot_be_pushed_is_an_error_at_the_start(world: World, tmp_path: Path, names: set[str]) -> None:
    """Also one whose plugin is installed, and whose driver names no notifications."""
    wrong = with_badges(world.with_settings(bridge=BridgeSettings(pushed=frozenset(names))))
    with pytest.raises(ConfigurationError) as met, bridging(wrong.service, configured(tmp_path, driver="noop").raw):
        pass
    assert f"pushed_types has {min(names - {HOST})}," in str(met.value)
    assert "Types that can be pushed: physical:host, virtual:floatingip." in str(met.value)


def test_a_notification_heals_and_brings_back_with_polling_off(pushed: World, tmp_path: Path) -> None:
    bus = memory_bus(tmp_path)
    lease = pushed.lease(hosts(), start=0.5, end=1)
    (before,) = pushed.holds(lease)
    watcher = Watcher(pushed.service)
    listener = Listener(bus, ["of-nova"], pushed_types(pushed.service), watcher.tell)
    watcher.start()
    listener.start()
    try:
        pushed.cloud.hypervisors.fail(before)
        send(bus, forced_down=True)
        wait_for(lambda: health(pushed, before) is Health.FAILED and before not in pushed.holds(lease))
        pushed.cloud.hypervisors.recover(before)
        send(bus, forced_down=False)
        wait_for(lambda: health(pushed, before) is Health.HEALTHY)
    finally:
        listener.stop(20)
        watcher.stop(20)


def send(bus: Any, **data: Any) -> None:
    message = {"event_type": "service.update", "priority": "INFO", "payload": versioned(**data), "publisher_id": "nova"}
    bus.send("of-nova.info", {}, {**message, "message_id": "1", "timestamp": "x"}, 2.0)


@pytest.fixture
def addressed(world: World) -> World:
    """A service whose hosts and addresses are pushed and not polled."""
    pushed = BridgeSettings(pushed=frozenset({HOST, FLOATING_IP}))
    return world.with_settings(manager=replace(UNPOLLED, unpolled=pushed.pushed), bridge=pushed)


def put_into_pool(world: World, *pools: tuple[str, str]) -> None:
    """Have the cloud assign these addresses itself."""
    world.execute(update(sandbox.subnets).values(allocation_pools=[list(pool) for pool in pools]))


def address_health(world: World) -> list[Health]:
    return [each.health for _, each in sorted(enrolled(world, FLOATING_IP).items())]


def test_an_address_that_somebody_takes_or_a_pool_gets_is_replaced_with_polling_off(addressed: World) -> None:
    lease = addressed.lease(floating_ips(), start=0.5, end=1)
    assert held_of(addressed, FLOATING_IP, lease) == {"203.0.113.200"}
    watcher = Watcher(addressed.service)
    taken = addressed.cloud.networks.create_floating_ip(NETWORK_ID, seed.SUBNET_ID, "203.0.113.200", "alt", frozenset())
    watcher.run_once({FLOATING_IP})
    assert held_of(addressed, FLOATING_IP, lease) == {"203.0.113.201"}
    addressed.cloud.networks.delete_floating_ip(taken.id)
    put_into_pool(addressed, ("203.0.113.201", "203.0.113.220"))
    watcher.run_once({FLOATING_IP})
    assert address_health(addressed) == [Health.HEALTHY, *[Health.FAILED] * 4]
    assert held_of(addressed, FLOATING_IP, lease) == {"203.0.113.200"}
    put_into_pool(addressed)
    watcher.run_once({FLOATING_IP})
    assert address_health(addressed) == [Health.HEALTHY] * 5


def test_only_what_a_notification_concerns_is_asked(addressed: World) -> None:
    addressed.cloud.hypervisors.fail("cmp-01")
    put_into_pool(addressed, ("203.0.113.200", "203.0.113.220"))
    watcher = Watcher(addressed.service)
    watcher.run_once({FLOATING_IP})
    assert (health(addressed, "cmp-01"), address_health(addressed)[0]) == (Health.HEALTHY, Health.FAILED)
    put_into_pool(addressed)
    watcher.run_once({HOST})
    assert (health(addressed, "cmp-01"), address_health(addressed)[0]) == (Health.FAILED, Health.FAILED)


def test_what_the_cloud_did_not_answer_is_owed_and_nothing_else(addressed: World) -> None:
    addressed.cloud.faults.set(Fault("networks.get", error="before"))
    watcher = Watcher(addressed.service)
    assert watcher.run_once({HOST, FLOATING_IP}) == OWED_SECONDS
    addressed.cloud.faults.clear()
    addressed.cloud.hypervisors.fail("cmp-01")
    put_into_pool(addressed, ("203.0.113.200", "203.0.113.220"))
    assert watcher.run_once(()) == UNPOLLED.health_seconds
    assert (health(addressed, "cmp-01"), address_health(addressed)[0]) == (Health.HEALTHY, Health.FAILED)


def test_what_nobody_reports_any_more_is_not_looked_at_without_end(addressed: World) -> None:
    """An address that was down when its network was removed keeps its state, and its grace period is over for ever."""
    grace = replace(addressed.service.settings.manager, failure_grace_seconds=120)
    patient = addressed.with_settings(manager=grace)
    put_into_pool(patient, ("203.0.113.200", "203.0.113.220"))
    watcher = Watcher(patient.service)
    assert watcher.run_once({FLOATING_IP}) == 120
    for table in (sandbox.subnets, sandbox.networks):
        patient.execute(delete(table))
    patient.clock.advance(seconds=120)
    assert watcher.run_once(()) == UNPOLLED.health_seconds
    assert address_health(patient)[0] is Health.DOWN


def test_a_forged_notification_changes_nothing(pushed: World) -> None:
    lease = pushed.lease(hosts(), start=0.5, end=1)
    before = (pushed.holds(lease), pushed.listed(), pushed.told(lease))
    watcher = Watcher(pushed.service)
    assert watcher.run_once({HOST}) == UNPOLLED.health_seconds
    assert (pushed.holds(lease), pushed.listed(), pushed.told(lease)) == before


def test_without_news_the_hosts_are_not_asked(pushed: World) -> None:
    lease = pushed.lease(hosts(), start=0.5, end=1)
    (held,) = pushed.holds(lease)
    pushed.cloud.hypervisors.fail(held)
    Watcher(pushed.service).run_once(())
    assert health(pushed, held) is Health.HEALTHY


def test_a_grace_period_ends_without_another_notification(world: World) -> None:
    patient = world.with_settings(manager=replace(UNPOLLED, failure_grace_seconds=120), bridge=PUSHED)
    lease = patient.lease(hosts(), start=0.5, end=1)
    (held,) = patient.holds(lease)
    patient.cloud.hypervisors.fail(held)
    watcher = Watcher(patient.service)
    assert watcher.run_once({HOST}) == 120
    assert (health(patient, held), held in patient.holds(lease)) == (Health.DOWN, True)
    patient.clock.advance(seconds=119)
    assert watcher.run_once(()) == 1
    patient.clock.advance(seconds=1)
    assert watcher.run_once(()) == UNPOLLED.health_seconds
    assert (health(patient, held), held in patient.holds(lease)) == (Health.FAILED, False)


def test_what_comes_near_is_healed_without_a_notification(pushed: World) -> None:
    """A reservation beyond the healing interval when its host failed."""
    lease = pushed.lease(hosts(), start=10, end=11)
    (held,) = pushed.holds(lease)
    pushed.cloud.hypervisors.fail(held)
    watcher = Watcher(pushed.service)
    watcher.run_once({HOST})
    assert held in pushed.holds(lease)
    pushed.clock.advance(hours=9.5)
    watcher.run_once(())
    assert held not in pushed.holds(lease)


def test_a_check_that_the_cloud_did_not_answer_is_made_again(pushed: World) -> None:
    lease = pushed.lease(hosts(), start=0.5, end=1)
    (held,) = pushed.holds(lease)
    pushed.cloud.hypervisors.fail(held)
    watcher = Watcher(pushed.service)
    pushed.cloud.faults.set(Fault("hypervisors.list", error="before"))
    assert watcher.run_once({HOST}) == OWED_SECONDS
    pushed.cloud.faults.clear()
    assert health(pushed, held) is Health.HEALTHY
    watcher.run_once(())
    assert health(pushed, held) is Health.FAILED


class Counted(Watcher):
    """Keeps what it checks."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self.checks: list[frozenset[str]] = []

    def run_once(self, told: Iterable[str]) -> float:
        self.checks.append(frozenset(told))
        return super().run_once(self.checks[-1])


def test_a_flood_is_one_check_at_a_time(addressed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first check is of all that is pushed, and the next one of all that was told meanwhile."""
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.5)
    watcher = Counted(addressed.service)
    watcher.start()
    wait_for(lambda: watcher.checks == [{HOST, FLOATING_IP}])
    for _ in range(10_000):
        watcher.tell({FLOATING_IP})
    wait_for(lambda: len(watcher.checks) == 2)
    watcher.stop(20)
    assert watcher.checks[1:] == [{FLOATING_IP}]


def test_a_bridge_without_a_task_says_what_to_set(world: World, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as met, bridging(world.service, configured(tmp_path, driver="noop").raw):
        pass
    assert str(met.value) == NOTHING_TO_DO


@pytest.mark.parametrize(
    ("url", "options", "word"),
    [
        ("rabbit://u:hunter2@[::1:5672/", {}, "transport_url"),
        ("rabbit://u:hunter2@host:hunter2/", {}, "transport_url"),
        ("telepathy://u:hunter2@host/", {}, "transport_url"),
        ("u:hunter2@host", {}, "transport_url"),
        ("kombu+memory:///", {"driver": "log"}, "messagingv2"),
    ],
)
def test_what_cannot_be_used_is_said_without_the_password(
    tmp_path: Path, url: str, options: dict[str, object], word: str
) -> None:
    with pytest.raises(ConfigurationError) as met:
        open_bus(configured(tmp_path, url, **options).raw)
    assert word in str(met.value)
    assert "hunter2" not in f"{met.value!r} {met.value.__cause__!r}"
