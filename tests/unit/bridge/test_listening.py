"""Nova's notifications make the bridge look, and only what Nova answers counts (feature J1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.bridge import watcher as module
from leasehold.bridge.listener import Endpoint, Listener
from leasehold.bridge.running import NOTHING_TO_DO, bridging
from leasehold.bridge.transport import open_bus
from leasehold.bridge.watcher import OWED_SECONDS, Watcher
from leasehold.cloud.sandbox.faults import Fault
from leasehold.conf.errors import ConfigurationError
from leasehold.conf.settings import BridgeSettings, ManagerSettings
from leasehold.model.resource import HOST, Health
from tests.factory import hosts
from tests.processes import wait_for
from tests.unit.bridge.memory import configured, memory_bus

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize(
    ("kind", "payload", "tells"),
    [
        ("service.update", versioned(), True),
        ("service.update", versioned(forced_down=False, disabled=True), True),
        ("service.update", {}, True),
        ("service.update", None, True),
        ("service.update", {"nova_object.data": [1]}, True),
        ("service.update", versioned(binary="nova-scheduler"), False),
        ("service.update", versioned(binary=["x" * 10_000]), False),
        ("compute.instance.update", versioned(), False),
        (["service.update"], versioned(), False),
        (None, None, False),
    ],
)
def test_only_a_change_of_a_compute_service_is_a_reason_to_look(kind: Any, payload: Any, tells: bool) -> None:  # noqa: FBT001
    told: list[int] = []
    endpoint = Endpoint(lambda: told.append(1))
    for priority in (endpoint.info, endpoint.warn, endpoint.error):
        priority({}, "nova-compute:cmp-01", kind, payload, {})
    assert told == [1, 1, 1] * tells


def test_a_notification_heals_and_brings_back_with_polling_off(pushed: World, tmp_path: Path) -> None:
    bus = memory_bus(tmp_path)
    lease = pushed.lease(hosts(), start=0.5, end=1)
    (before,) = pushed.holds(lease)
    watcher = Watcher(pushed.service)
    listener = Listener(bus, ["of-nova"], watcher.tell)
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


def test_a_forged_notification_changes_nothing(pushed: World) -> None:
    lease = pushed.lease(hosts(), start=0.5, end=1)
    before = (pushed.holds(lease), pushed.listed(), pushed.told(lease))
    watcher = Watcher(pushed.service)
    assert watcher.run_once(told=True) == UNPOLLED.health_seconds
    assert (pushed.holds(lease), pushed.listed(), pushed.told(lease)) == before


def test_without_news_the_hosts_are_not_asked(pushed: World) -> None:
    lease = pushed.lease(hosts(), start=0.5, end=1)
    (held,) = pushed.holds(lease)
    pushed.cloud.hypervisors.fail(held)
    Watcher(pushed.service).run_once(told=False)
    assert health(pushed, held) is Health.HEALTHY


def test_a_grace_period_ends_without_another_notification(world: World) -> None:
    patient = world.with_settings(manager=replace(UNPOLLED, failure_grace_seconds=120), bridge=PUSHED)
    lease = patient.lease(hosts(), start=0.5, end=1)
    (held,) = patient.holds(lease)
    patient.cloud.hypervisors.fail(held)
    watcher = Watcher(patient.service)
    assert watcher.run_once(told=True) == 120
    assert (health(patient, held), held in patient.holds(lease)) == (Health.DOWN, True)
    patient.clock.advance(seconds=119)
    assert watcher.run_once(told=False) == 1
    patient.clock.advance(seconds=1)
    assert watcher.run_once(told=False) == UNPOLLED.health_seconds
    assert (health(patient, held), held in patient.holds(lease)) == (Health.FAILED, False)


def test_what_comes_near_is_healed_without_a_notification(pushed: World) -> None:
    """A reservation beyond the healing interval when its host failed."""
    lease = pushed.lease(hosts(), start=10, end=11)
    (held,) = pushed.holds(lease)
    pushed.cloud.hypervisors.fail(held)
    watcher = Watcher(pushed.service)
    watcher.run_once(told=True)
    assert held in pushed.holds(lease)
    pushed.clock.advance(hours=9.5)
    watcher.run_once(told=False)
    assert held not in pushed.holds(lease)


def test_a_check_that_the_cloud_did_not_answer_is_made_again(pushed: World) -> None:
    lease = pushed.lease(hosts(), start=0.5, end=1)
    (held,) = pushed.holds(lease)
    pushed.cloud.hypervisors.fail(held)
    watcher = Watcher(pushed.service)
    pushed.cloud.faults.set(Fault("hypervisors.list", error="before"))
    assert watcher.run_once(told=True) == OWED_SECONDS
    pushed.cloud.faults.clear()
    assert health(pushed, held) is Health.HEALTHY
    watcher.run_once(told=False)
    assert health(pushed, held) is Health.FAILED


class Counted(Watcher):
    """Counts its checks."""

    checks = 0

    def run_once(self, *, told: bool) -> float:
        self.checks += 1
        return super().run_once(told=told)


def test_a_flood_is_one_check_at_a_time(pushed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.5)
    watcher = Counted(pushed.service)
    watcher.start()
    wait_for(lambda: watcher.checks == 1)
    for _ in range(10_000):
        watcher.tell()
    wait_for(lambda: watcher.checks == 2)
    watcher.stop(20)
    assert watcher.checks == 2


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
