"""Nova's and Neutron's notifications on the message bus of a real OpenStack, with polling off."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import HOST, V1, Person, nothing_left
from tests.processes import running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud
    from tests.openstack.leasehold import RunningLeasehold

SECONDS = 60
"""Nova and a busy machine included. Polling is off, so without the notification it would never happen."""
START_WITHIN = 60
HEALTH: dict[str, object] = {
    "enable_polling_monitor": False,
    "enable_notification_monitor": True,
    "failure_grace": 0,
    "healing_interval": 1,
}
ADDRESSES = "virtual:floatingip"
ADDRESS = "172.24.4.203"
"""Outside the pool from which Neutron itself allocates addresses."""
CHOSEN = {**HOST, "resource_properties": json.dumps(["==", "$chosen", "yes"])}


@pytest.fixture
def admin(cloud: RunningCloud) -> Person:
    return Person(cloud, "admin")


@pytest.fixture
def demo(cloud: RunningCloud) -> Person:
    return Person(cloud, "demo")


@pytest.fixture
def leasehold(cloud: RunningCloud, admin: Person) -> Iterator[RunningLeasehold]:
    """Yield a new Leasehold and its bridge, with every compute enrolled."""
    more: dict[str, dict[str, object]] = {
        "physical:host": HEALTH,
        "manager": {"unpolled_types": ADDRESSES},
        "notifications": {"pushed_types": ADDRESSES},
        "DEFAULT": {"transport_url": cloud.broker_url},
    }
    with running_leasehold(cloud, "push", more) as found, nothing_left(admin), ExitStack() as undo:
        for name in cloud.computes:
            undo.callback(admin.blazar.host.delete, admin.blazar.host.create(name=name)["id"])
        bridge = undo.enter_context(running("leasehold-bridge", options=found.options))
        # What is sent before the bridge has a queue is lost.
        wait_for(lambda: "Notifications are read" in bridge.log.read_text(errors="replace"), within=START_WITHIN)
        yield found


def test_the_six_points_of_the_timeline(
    cloud: RunningCloud, leasehold: RunningLeasehold, admin: Person, demo: Person
) -> None:
    """Feature S3, J3: three reservations of one host, which is forced down and comes back; nobody polls."""
    lost, spare = cloud.computes[:2]
    choose(admin, lost)
    end = (datetime.now(UTC) + timedelta(seconds=170)).replace(second=0, microsecond=0)
    active = demo.lease(CHOSEN, end=end.strftime(V1))
    near, far = (demo.promise(CHOSEN, at(end, minutes), at(end, minutes + 1)) for minutes in (0, 1))
    server = demo.boot(
        str(admin.sdk.compute.find_flavor("m1.tiny", ignore_missing=False).id), active["reservations"][0]["id"]
    )
    assert demo.outcome(server) == "ACTIVE"
    choose(admin, lost, spare)

    def places() -> list[set[str]]:
        return [holders(admin, lease["reservations"][0]["id"]) for lease in (active, near, far)]

    def healed() -> list[int]:
        """Return how often each lease was healed, by the event log."""
        headers = {"X-Auth-Token": demo.sdk.auth_token, "OpenStack-API-Version": "reservation 1.2"}
        page = requests.get(f"{leasehold.url}/events", {"limit": "1000"}, headers=headers, timeout=60).json()
        found = Counter(event["lease_id"] for event in page["events"] if event["type"] == "lease.healed")
        return [found[lease["id"]] for lease in (active, near, far)]

    # 1. Three reservations are on the host: one is active, one starts within the interval of a minute, one does not.
    until(end - timedelta(seconds=55))
    assert places() == [{lost}] * 3

    # 2. The host fails: the first two get the spare one, and the server stays where it is.
    admin.set_compute(lost, forced_down=True)
    try:
        wait_for(lambda: places() == [{lost, spare}, {spare}, {lost}], within=SECONDS)
        assert [demo.blazar.lease.get(lease["id"])["degraded"] for lease in (active, near, far)] == [True, False, False]
        assert (admin.sdk.compute.get_server(server).compute_host, host(admin, lost)["reservable"]) == (lost, False)

        # 3. The next looks find nothing to do.
        wait_for(lambda: healed() == [1, 1, 0], within=SECONDS)
        until(end - timedelta(seconds=5))
        assert (healed(), places()) == ([1, 1, 0], [{lost, spare}, {spare}, {lost}])

        # 4. The third one comes within the interval, and moves. The end of the first has removed its own server.
        wait_for(lambda: places()[2] == {spare}, within=60 + SECONDS)
        assert datetime.now(UTC) >= end
        demo.lease_with_status(active["id"], "TERMINATED")
    finally:
        admin.set_compute(lost, forced_down=False)

    # 5. The host works again, and may be leased.
    wait_for(lambda: host(admin, lost)["reservable"], within=SECONDS)

    # 6. From now on there is nothing to do.
    assert (healed(), places()[2]) == ([1, 1, 1], {spare})
    assert not demo.blazar.lease.get(far["id"])["degraded"]
    for lease in (near, far):
        demo.delete(lease)


def test_an_address_that_a_project_has_without_a_lease_is_promised_to_nobody(
    leasehold: RunningLeasehold, admin: Person
) -> None:
    network = str(admin.sdk.network.find_network("public", ignore_missing=False).id)
    enrolled = admin.blazar.floatingip.create(network, ADDRESS)

    def reservable() -> bool:
        return bool(admin.blazar.floatingip.get(enrolled["id"])["reservable"])

    assert reservable()
    taken = admin.sdk.network.create_ip(floating_network_id=network, floating_ip_address=ADDRESS)
    try:
        wait_for(lambda: not reservable(), within=SECONDS)
    finally:
        admin.sdk.network.delete_ip(taken)
    wait_for(reservable, within=SECONDS)
    admin.blazar.floatingip.delete(enrolled["id"])


def until(moment: datetime) -> None:
    wait_for(lambda: datetime.now(UTC) >= moment, within=240)


def at(moment: datetime, minutes: int) -> str:
    return (moment + timedelta(minutes=minutes)).strftime(V1)


def host(admin: Person, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in admin.blazar.host.list() if each["hypervisor_hostname"] == name)
    return found


def choose(admin: Person, *names: str) -> None:
    """Mark these hosts, and no others, with the property that the leases ask for."""
    for each in admin.blazar.host.list():
        values = {"chosen": "yes" if each["hypervisor_hostname"] in names else "no"}
        admin.blazar.host.update(each["id"], values=values)


def holders(admin: Person, reservation_id: str) -> set[str]:
    """Return the names of the hosts of a reservation, those among them that it has lost and not left yet."""
    names = {each["id"]: str(each["hypervisor_hostname"]) for each in admin.blazar.host.list()}
    shown = admin.blazar.allocation.list(resource="os-hosts")
    return {names[each["resource_id"]] for each in shown if reservation_id in {r["id"] for r in each["reservations"]}}
