"""Contract http-api: the rows that unmodified clients depend on, and the requirements for a new server."""

from __future__ import annotations

from typing import Any

import pytest

from leasehold.cloud.sandbox import seed
from tests.factory import flavors, floating_ips, instances
from tests.v1.world import ADMIN, HOST, INSTANCE, World, event

OURS = ("start_lease", "end_lease", "before_end_lease")


# ---------------------------------------------------------------- §1: endpoint


def test_http_api_1_root_leads_to_an_endpoint_that_ends_in_v1(cloud_world: World) -> None:
    """The `self` link of v1 in the version document ends in /v1, and the paths below it work."""
    answer = cloud_world.web.simulate_get("/", headers=ADMIN)
    assert answer.status_code == 300
    (version,) = [each for each in answer.json["versions"] if each["id"].startswith("v1")]
    (link,) = [each["href"] for each in version["links"] if each["rel"] == "self"]
    assert link.endswith("/v1")
    path = "/" + link.split("://", 1)[1].partition("/")[2]
    assert cloud_world.web.simulate_get(f"{path}/leases", headers=ADMIN).status_code == 200


# ---------------------------------------------------------------- §5.3: events of clients


def test_http_api_5_3_events_in_the_shape_of_the_command_line(cloud_world: World) -> None:
    """An event with `event_type` and `event_date` is accepted and told at that time; {} is no event."""
    events: list[dict[str, Any]] = [{"event_type": "notification", "event_date": cloud_world.date(minutes=1)}, {}]
    lease = cloud_world.lease(events=events)
    cloud_world.wait(minutes=5)
    assert len(lease["events"]) == 4
    shown = event(cloud_world.show(lease), "notification")
    assert (shown["time"][:16].replace("T", " "), shown["status"]) == (events[0]["event_date"], "DONE")
    assert cloud_world.show(lease)["status"] == "ACTIVE"


@pytest.mark.parametrize("kind", OURS)
def test_http_api_5_3_no_client_injects_our_events(cloud_world: World, kind: str) -> None:
    """A client's event of one of the service's three types neither appears twice nor moves the service's event."""
    injected = {"event_type": kind, "event_date": cloud_world.date(), "time": cloud_world.date(), "status": "UNDONE"}
    plain, lease = cloud_world.lease(), cloud_world.lease(events=[injected])
    assert sorted(each["event_type"] for each in lease["events"]) == sorted(OURS)
    for name in OURS:
        assert event(lease, name)["time"] == event(plain, name)["time"]
    cloud_world.wait(minutes=5)
    assert cloud_world.show(lease)["status"] == "ACTIVE"


# ---------------------------------------------------------------- §10.1: arguments of the command line

CLI_RESERVATIONS = [
    {**HOST, "max": 2},
    {
        **HOST,
        "hypervisor_properties": '[">=", "$vcpus", "2"]',
        "resource_properties": '["==", "$rack", "a1"]',
        "before_end": "snapshot",
    },
    *(instances(2, affinity=affinity) for affinity in ("None", "True", "False")),
    instances(2, disk_gb=0, resource_properties="[]"),
    flavors(affinity="None"),
    floating_ips(required_floatingips=[]),
    floating_ips(2, required_floatingips=[seed.SUGGESTED_FLOATING_IPS[1]]),
]


@pytest.mark.parametrize("asked", CLI_RESERVATIONS, ids=lambda asked: asked["resource_type"])
def test_http_api_10_1_reservations_of_the_command_line(full: World, asked: dict[str, Any]) -> None:
    """Every form in which the command line sends its arguments is granted."""
    full.enrol_addresses(2)
    lease = full.lease(asked)
    assert lease["reservations"][0]["resource_type"] == asked["resource_type"]
    full.wait(seconds=1)
    assert full.show(lease)["status"] == "ACTIVE"


@pytest.mark.parametrize(
    "change",
    [
        {"min": 1, "max": 2},
        {"max": "2"},
        {"resource_properties": '["==", "$rack", "a1"]'},
        {"hypervisor_properties": ""},
    ],
)
def test_http_api_10_1_reservations_of_lease_set(full: World, change: dict[str, Any]) -> None:
    """`lease set --reservation` sends the id and some keys; the other keys keep their values."""
    lease = full.lease(HOST)
    sent = {"reservations": [{"id": lease["reservations"][0]["id"], **change}]}
    answer = full.ask("PUT", f"/leases/{lease['id']}", sent)
    assert answer.status_code == 200, answer.text
    (shown,) = full.show(lease)["reservations"]
    assert {key: str(shown[key]) for key in change} == {key: str(value) for key, value in change.items()}


# ---------------------------------------------------------------- requirements for a new server


def test_http_api_6_ids_of_hosts_are_hypervisor_ids(full: World) -> None:
    """A host's id is the hypervisor's id, a string of decimal digits, so that clients can tell ids from names."""
    found = {each.hypervisor_hostname: each.id for each in full.cloud.hypervisors.list()}
    for host in full.get("/os-hosts")["hosts"]:
        assert host["id"] == found[host["hypervisor_hostname"]]
        assert host["id"].isdigit()


def test_http_api_6_1_every_slot_is_an_entry(cloud_world: World) -> None:
    """A reservation with n slots on a host is listed n times for that host."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease({**INSTANCE, "amount": 3, "affinity": None})
    (allocation,) = cloud_world.get("/os-hosts/allocations")["allocations"]
    assert [each["id"] for each in allocation["reservations"]] == [lease["reservations"][0]["id"]] * 3
