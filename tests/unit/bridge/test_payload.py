"""Notifications are Blazar's: event types, statuses and keys of the contract, and the lease as the API shows it."""

from __future__ import annotations

import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.bridge.running import sending
from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings
from leasehold.db.tables import outbox
from leasehold.features.subscription.use import follow_bus
from leasehold.leasing.reading.event_log import sequence_events
from tests.api.conftest import Client
from tests.factory import Clock, open_service, run_until
from tests.unit.bridge.memory import Reader, memory_bus, reading
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.factory import World

pytestmark = pytest.mark.slow

CONTRACT = (Path(__file__).parents[3] / "docs/reference/v1-contract.md").read_text(encoding="utf-8")
SECTION = CONTRACT.partition("### lifecycle §9")[2].partition("\n### ")[0]
_KEYS = re.search(r"Keys of the payload: `([^`]+)`", SECTION)
assert _KEYS is not None
KEYS = set(_KEYS[1].split())
HOSTS = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
    "before_end": "snapshot",
}
INSTANCES = {
    "resource_type": "virtual:instance",
    "amount": 2,
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 1,
    "affinity": False,
    "resource_properties": "",
}
LEASE = {
    "name": "n",
    "start_date": "2031-05-01 10:00",
    "end_date": "2031-05-01 12:00",
    "before_end_date": "2031-05-01 11:30",
    "reservations": [HOSTS, INSTANCES],
    "events": [],
}


class Told:
    """A service with its API, and a reader of what its bridge sends."""

    def __init__(self, world: World, folder: Path, stack: ExitStack) -> None:
        self.world = world
        self.client = Client(LocalClient(make_app(world.service, ApiSettings(delete_wait_seconds=0.0))))
        bus = memory_bus(folder, topics="of-payloads")
        follow_bus(world.service)
        self._deliverer = sending(world.service, bus)
        self._deliverer.start()
        stack.callback(lambda: self._deliverer.stop(20))
        self.reader: Reader = stack.enter_context(reading(bus, "of-payloads"))

    def take(self, number: int) -> list[dict[str, Any]]:
        sequence_events(self.world.service)
        return self.reader.take(number)

    def put(self, lease: str, **changes: Any) -> None:
        answer = self.client.ask("PUT", f"/v1/leases/{lease}", changes)
        assert answer.status_code == 200, answer.text

    def shown(self, lease: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.ask("GET", f"/v1/leases/{lease}").json["lease"]
        found["lease_id"] = found.pop("id")
        return found


@pytest.fixture
def told(enrolled: Path, tmp_path: Path) -> Iterator[Told]:
    shutil.copyfile(enrolled, tmp_path / "leasehold.db")
    world = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=Clock())
    sequence_events(world.service)
    with ExitStack() as stack:
        yield Told(world, tmp_path, stack)
    world.engine.dispose()


def test_each_notification_has_the_lease_as_the_api_shows_it(told: Told) -> None:
    """The bus is told what a GET of that moment answers, whatever becomes of the lease before it is sent."""
    made = told.client.ask("POST", "/v1/leases", LEASE)
    assert made.status_code == 201, made.text
    lease = made.json["lease"]["id"]
    states = [("lease.create", "PENDING", told.shown(lease))]
    told.put(lease, name="other", end_date="2031-05-01 13:00")
    states.append(("lease.update", "UPDATING", told.shown(lease)))
    for hour, kind in ((1, "start_lease"), (3.5, "before_end_lease")):
        run_until(told.world, told.world.hour(hour))
        states.append((f"lease.event.{kind}", "ACTIVE", told.shown(lease)))
    told.put(lease, end_date="2031-05-01 16:00", before_end_date="2031-05-01 15:00")
    states += [(kind, "UPDATING", told.shown(lease)) for kind in ("lease.update", "lease.event.before_end_lease.stop")]
    run_until(told.world, told.world.hour(6))
    states.append(("lease.event.before_end_lease", "ACTIVE", {}))
    run_until(told.world, told.world.hour(8))
    states.append(("lease.event.end_lease", "TERMINATED", told.shown(lease)))
    last = told.shown(lease)
    told.client.ask("DELETE", f"/v1/leases/{lease}")
    states.append(("lease.delete", "DELETING", last))
    arrived = told.take(len(states))
    assert [(each["event_type"], each["payload"]["status"]) for each in arrived] == [state[:2] for state in states]
    for each, (kind, status, shown) in zip(arrived, states, strict=True):
        assert set(each["payload"]) == KEYS
        assert kind in SECTION or kind.replace("lease.event.", "…") in SECTION
        if shown and kind not in ("lease.delete", "lease.event.before_end_lease"):
            assert each["payload"] == {**shown, "status": status}, kind
        assert each["publisher_id"] == "blazar.lease"
        assert (each["context"]["user_id"], each["context"]["project_id"]) == ("alice", "demo")
    assert arrived[-1]["payload"]["reservations"][0]["id"] == last["reservations"][0]["id"]
    assert arrived[0]["timestamp"] == "2031-05-01 09:00:00"
    assert len({each["message_id"] for each in arrived}) == len(arrived)


def test_what_an_older_version_wrote_is_sent_with_the_same_keys(told: Told) -> None:
    told.client.ask("POST", "/v1/leases", LEASE)
    told.world.execute(update(outbox).values(lease_state=None))
    (sent,) = told.take(1)
    assert set(sent["payload"]) == KEYS
    assert [part["resource_type"] for part in sent["payload"]["reservations"]] == ["physical:host", "virtual:instance"]
    assert sent["payload"]["created_at"] is None
