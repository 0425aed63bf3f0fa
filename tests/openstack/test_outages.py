"""Outages: Nova is down, Placement answers errors, hosts fail. Each case ends as design §5 says."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.openstack.faulty import in_front_of
from tests.openstack.leasehold import QUICK, running_leasehold
from tests.openstack.person import BY_SIZE, HOST, Person, minute, nothing_left
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud
    from tests.openstack.leasehold import RunningLeasehold

OUTAGE_SECONDS = 120
AFTERWARDS = 90.0


@pytest.fixture
def admin(cloud: RunningCloud) -> Person:
    return Person(cloud, "admin")


@pytest.fixture
def demo(cloud: RunningCloud) -> Person:
    return Person(cloud, "demo")


@pytest.fixture
def leasehold(cloud: RunningCloud, admin: Person) -> Iterator[RunningLeasehold]:
    """Yield a new Leasehold with every compute enrolled, and check that it leaves the cloud unchanged."""
    with running_leasehold(cloud, "outages", QUICK) as running, nothing_left(admin), ExitStack() as undo:
        for name in cloud.computes:
            undo.callback(admin.blazar.host.delete, admin.blazar.host.create(name=name)["id"])
        yield running


def host_of(admin: Person, reservation_id: str) -> dict[str, Any]:
    """Return the host that is allocated to a reservation."""
    hosts: dict[str, dict[str, Any]] = {host["id"]: host for host in admin.blazar.host.list()}
    (held,) = [
        hosts[each["resource_id"]]
        for each in admin.blazar.allocation.list(resource="os-hosts")
        if reservation_id in {reservation["id"] for reservation in each["reservations"]}
    ]
    return held


def look(leasehold: RunningLeasehold, person: Person, lease_id: str) -> dict[str, Any]:
    """Return the lease as version 1.1 shows it, with `status_reason`."""
    headers = {"X-Auth-Token": person.sdk.auth_token, "OpenStack-API-Version": "reservation 1.1"}
    answer = requests.get(f"{leasehold.url}/leases/{lease_id}", headers=headers, timeout=10)
    lease: dict[str, Any] = answer.json()["lease"]
    return lease


def waits_for_the_cloud(leasehold: RunningLeasehold, person: Person, lease_id: str, status: str) -> bool:
    lease = look(leasehold, person, lease_id)
    return lease["status"] == status and "Waiting for the cloud: nova" in (lease["status_reason"] or "")


def test_nova_is_gone_for_two_minutes_across_a_start_and_an_end(
    leasehold: RunningLeasehold, cloud: RunningCloud, admin: Person, demo: Person
) -> None:
    border = minute(seconds=100)
    ending = demo.lease(HOST, border)
    # On another host: on the same one it would wait for the ending lease, not for Nova.
    taken = host_of(admin, ending["reservations"][0]["id"])["id"]
    for host in admin.blazar.host.list():
        admin.blazar.host.update(host["id"], values={"taken": str(host["id"] == taken)})
    elsewhere = json.dumps(["==", "$taken", "False"])
    coming = demo.promise({**BY_SIZE, "resource_properties": elsewhere}, border, minute(hours=1))
    cloud.stop_service("nova-api")
    back = time.monotonic() + OUTAGE_SECONDS
    try:
        wait_for(lambda: waits_for_the_cloud(leasehold, admin, ending["id"], "TERMINATING"), within=OUTAGE_SECONDS)
        wait_for(lambda: waits_for_the_cloud(leasehold, admin, coming["id"], "STARTING"), within=OUTAGE_SECONDS)
        # Decisions do not need the cloud, so a new lease is granted during the outage.
        later = demo.promise(HOST, minute(days=1), minute(days=2))
        time.sleep(max(0.0, back - time.monotonic()))
    finally:
        cloud.start_service("nova-api")
    demo.lease_with_status(ending["id"], "TERMINATED", within=AFTERWARDS)
    demo.lease_with_status(coming["id"], "ACTIVE", within=AFTERWARDS)
    assert look(leasehold, admin, coming["id"])["status_reason"] is None
    assert demo.boots(coming["reservations"][0]["id"])
    for lease in (ending, coming, later):
        demo.delete(lease)


def test_placement_answers_409_and_503(cloud: RunningCloud, admin: Person, demo: Person) -> None:
    with (
        in_front_of(f"http://127.0.0.1:{cloud.ports['placement']}") as placement,
        running_leasehold(cloud, "troubled", {**QUICK, "placement": {"endpoint_override": placement.url}}),
        nothing_left(admin),
    ):
        blip = placement.trouble(503, "placement.undefined_code", "GET", 2)
        host = admin.blazar.host.create(name=cloud.computes[0])
        assert blip.remaining == 0
        with nothing_left(admin):
            down = placement.trouble(503, "placement.undefined_code", "GET PUT POST", 10)
            racing = placement.trouble(409, "placement.concurrent_update", "PUT POST", 5)
            refusing = placement.trouble(409, "placement.undefined_code", "PUT POST", 3)
            lease = demo.lease(BY_SIZE)
            assert (down.remaining, racing.remaining, refusing.remaining) == (0, 0, 0)
            assert demo.boots(lease["reservations"][0]["id"])
            refusing = placement.trouble(409, "placement.inventory.inuse", "DELETE", 3)
            racing = placement.trouble(409, "placement.concurrent_update", "DELETE", 5)
            demo.delete(lease)
            assert (racing.remaining, refusing.remaining) == (0, 0)
        admin.blazar.host.delete(host["id"])


def test_a_host_that_fails_between_decision_and_start_is_replaced(
    leasehold: RunningLeasehold, cloud: RunningCloud, admin: Person, demo: Person
) -> None:
    lease = demo.promise(HOST, minute(seconds=100), minute(hours=1))
    (reservation,) = lease["reservations"]
    lost = host_of(admin, reservation["id"])
    cloud.kill_service(lost["hypervisor_hostname"])
    try:
        wait_for(lambda: host_of(admin, reservation["id"])["id"] != lost["id"], within=AFTERWARDS)
        demo.lease_with_status(lease["id"], "ACTIVE", within=2 * AFTERWARDS)
        leased = admin.sdk.compute.find_aggregate(reservation["id"], ignore_missing=False)
        assert leased.hosts == [host_of(admin, reservation["id"])["service_name"]]
        assert not admin.blazar.host.get(lost["id"])["reservable"]
    finally:
        cloud.start_service(lost["hypervisor_hostname"])
    wait_for(lambda: admin.blazar.host.get(lost["id"])["reservable"], within=AFTERWARDS)
    demo.delete(lease)


def test_a_hypervisor_that_disappears_between_decision_and_start(
    cloud: RunningCloud, admin: Person, demo: Person
) -> None:
    """A host that Nova no longer lists does not count as failed (contract resources §7.2), so it is not replaced."""
    name = cloud.computes[-1]
    with running_leasehold(cloud, "disappeared", QUICK) as leasehold, nothing_left(admin):
        host = admin.blazar.host.create(name=name)
        lease = demo.promise(HOST, minute(seconds=70), minute(hours=1))
        cloud.stop_service(name)
        try:
            (service,) = admin.sdk.compute.services(binary="nova-compute", host=name)
            admin.sdk.compute.delete(f"/os-services/{service.id}")
            wait_for(lambda: look(leasehold, admin, lease["id"])["status"] == "ERROR", within=AFTERWARDS)
            assert "The cloud refused: nova" in look(leasehold, admin, lease["id"])["status_reason"]
            assert name in look(leasehold, admin, lease["id"])["status_reason"]
            demo.delete(lease)
            admin.blazar.host.delete(host["id"])
        finally:
            cloud.start_service(name)
