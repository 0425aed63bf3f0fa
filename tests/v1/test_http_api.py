"""Contract http-api: the rows that unmodified clients depend on, and the requirements for a new server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox import seed
from tests.v1.world import ADMIN, HOST, INSTANCE, MEMBER, World, event, moment

if TYPE_CHECKING:
    from collections.abc import Mapping

SIX_DIGITS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")
RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?")
JSON = {"Content-Type": "application/json"}
OURS = ("start_lease", "end_lease", "before_end_lease")


def body(world: World, **changes: Any) -> dict[str, Any]:
    return {"name": "n", "start_date": "now", "end_date": world.date(hours=1), **changes}


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


# ---------------------------------------------------------------- §3: errors


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("GET", "/v1/leases/none-such", {}, 404),
        ("GET", "/v1/nonsense", {}, 404),
        ("PATCH", "/v1/leases", {}, 405),
        ("POST", "/v1/leases", {"body": b"nonsense", "headers": JSON}, 400),
        ("POST", "/v1/leases", {"body": b"", "headers": {"Content-Type": "text/plain"}}, 400),
        ("POST", "/v1/leases", {"json": {}}, 400),
        ("GET", "/v1/leases", {"headers": {"OpenStack-API-Version": "reservation 9.9"}}, 406),
        ("GET", "/v1/leases", {"headers": {"OpenStack-API-Version": "reservation x"}}, 400),
        ("GET", "/v1/os-hosts", {"headers": {"X-Roles": "reader"}}, 403),
        ("GET", "/v1/leases", {"headers": {"X-Project-Id": "\xe4"}}, 401),
        ("POST", "/v1/leases", {"body": b'{"name": "' + b"x" * 2**20 + b'"}', "headers": JSON}, 413),
    ],
)
def test_http_api_3_error_bodies_are_objects_with_error_message(
    cloud_world: World, method: str, path: str, sent: Mapping[str, Any], status: int
) -> None:
    """The body of every error is a JSON object with a readable string `error_message`."""
    headers = {**ADMIN, **sent.get("headers", {})}
    answer = cloud_world.web.simulate_request(method, path, **{**sent, "headers": headers})
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/json")
    assert isinstance(answer.json, dict)
    assert answer.json["error_message"]


def test_http_api_3_1_end_before_start_message(cloud_world: World) -> None:
    """An end that is not after the start is 400, "End date must be later than start date."."""
    for minutes in (60, 59, 1):
        dates = {"start_date": cloud_world.date(hours=1), "end_date": cloud_world.date(minutes=minutes)}
        answer = cloud_world.ask("POST", "/leases", body(cloud_world, **dates))
        assert answer.status_code == 400
        assert "End date must be later than start date." in answer.json["error_message"]


@pytest.mark.parametrize("start", ["Bogus-date 13:13", "", "2031-05-02", "2031-05-02T10:00:00", "now "])
def test_http_api_3_1_unparsable_start_message(cloud_world: World, start: str) -> None:
    """A start that is no date is 400 with the value and the required format."""
    answer = cloud_world.ask("POST", "/leases", body(cloud_world, start_date=start))
    assert answer.status_code == 400
    assert f"{start} is an invalid date. Required format: %Y-%m-%d %H:%M" in answer.json["error_message"]


def test_http_api_3_1_missing_end_date_message(cloud_world: World) -> None:
    """A lease without end_date is 400, "Missing parameter end_date"; several absent keys are named together."""
    answer = cloud_world.ask("POST", "/leases", {"name": "n", "start_date": "now"})
    assert answer.status_code == 400
    assert "Missing parameter end_date" in answer.json["error_message"]
    message = cloud_world.ask("POST", "/leases", {"reservations": []}).json["error_message"]
    assert all(key in message for key in ("name", "start_date", "end_date"))


@pytest.mark.parametrize(("length", "status"), [(64, 201), (65, 400), (2000, 400)])
def test_http_api_3_1_long_capability_key_message(cloud_world: World, length: int, status: int) -> None:
    """A capability key of more than 64 characters is 400, "Extra capability key too long"; 64 are fine."""
    answer = cloud_world.ask("POST", "/os-hosts", {"name": "cmp-01", "k" * length: "v"})
    assert answer.status_code == status
    if status == 400:
        assert "Extra capability key too long" in answer.json["error_message"]


# ---------------------------------------------------------------- §4: dates


def test_http_api_4_dates_out_have_six_fraction_digits(cloud_world: World) -> None:
    """Dates of leases, events and allocations are %Y-%m-%dT%H:%M:%S.%f, six digits, no zone, in every answer."""
    host = cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(HOST, before_end_date=cloud_world.date(minutes=30))
    cloud_world.wait(seconds=1)
    updated = cloud_world.ask("PUT", f"/leases/{lease['id']}", {"end_date": cloud_world.date(hours=2)}).json["lease"]
    for shown in (lease, updated, cloud_world.show(lease), *cloud_world.get("/leases")["leases"]):
        for date in (shown["start_date"], shown["end_date"], *(each["time"] for each in shown["events"])):
            assert SIX_DIGITS.fullmatch(date)
        assert RECORD.fullmatch(shown["created_at"])
    promises = [
        *cloud_world.get("/os-hosts/allocations")["allocations"][0]["reservations"],
        *cloud_world.get(f"/os-hosts/{host['id']}/allocation")["allocation"]["reservations"],
    ]
    assert len(promises) == 2
    for promise in promises:
        assert SIX_DIGITS.fullmatch(promise["start_date"])
        assert SIX_DIGITS.fullmatch(promise["end_date"])


def test_http_api_4_now_is_the_current_minute(cloud_world: World) -> None:
    """`now` is the server's UTC time cut to the minute."""
    lease = cloud_world.lease()
    assert moment(lease["start_date"]) == cloud_world.now.replace(second=0)


# ---------------------------------------------------------------- §5.3: events of clients


def test_http_api_5_3_events_in_the_shape_of_the_command_line(cloud_world: World) -> None:
    """An event with `event_type` and `event_date` is accepted, shown without a time, and never run."""
    events = [{"event_type": "notification", "event_date": cloud_world.date(minutes=1)}]
    lease = cloud_world.lease(events=events)
    cloud_world.wait(minutes=5)
    shown = event(cloud_world.show(lease), "notification")
    assert (shown["time"], shown["status"]) == (None, None)
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

CLI_RESERVATIONS: dict[str, dict[str, Any]] = {
    "host, blank properties": {"min": 1, "max": 2, "hypervisor_properties": "", "resource_properties": ""},
    "host, an expression as text": {
        "min": 1,
        "max": 1,
        "hypervisor_properties": '[">=", "$vcpus", "2"]',
        "resource_properties": '["==", "$rack", "a1"]',
        "before_end": "snapshot",
    },
    "instance, affinity None": {
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 5,
        "amount": 2,
        "affinity": "None",
        "resource_properties": "",
    },
    "instance, affinity True": {
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 0,
        "amount": 2,
        "affinity": "True",
        "resource_properties": "[]",
    },
    "instance, affinity False": {
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 5,
        "amount": 2,
        "affinity": "False",
        "resource_properties": "",
    },
    "flavor": {"flavor_id": "m1.small", "amount": 1, "affinity": "None"},
    "floating IP, the defaults": {"network_id": seed.NETWORK_ID, "amount": 1, "required_floatingips": []},
    "floating IP, named": {
        "network_id": seed.NETWORK_ID,
        "amount": 2,
        "required_floatingips": [seed.SUGGESTED_FLOATING_IPS[1]],
    },
}
TYPES = {
    "host": "physical:host",
    "instance": "virtual:instance",
    "flavor": "flavor:instance",
    "floating IP": "virtual:floatingip",
}


@pytest.mark.parametrize("name", CLI_RESERVATIONS)
def test_http_api_10_1_reservations_of_the_command_line(full: World, name: str) -> None:
    """Every form in which the command line sends its arguments is granted."""
    for address in seed.SUGGESTED_FLOATING_IPS[:2]:
        sent = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": address}
        assert full.ask("POST", "/floatingips", sent).status_code == 201
    asked = {**CLI_RESERVATIONS[name], "resource_type": TYPES[name.partition(",")[0]]}
    lease = full.lease(asked)
    assert lease["reservations"][0]["resource_type"] == asked["resource_type"]
    full.wait(seconds=1)
    assert full.show(lease)["status"] == "ACTIVE"


def test_http_api_10_1_a_flavor_id_that_arrives_as_an_integer(cloud_world: World) -> None:
    """The command line sends flavor_id=3 as a number; the service reads it as the flavor "3"."""
    cloud_world.enrol("cmp-01")
    small = cloud_world.cloud.flavors.get("m1.small")
    assert small is not None
    cloud_world.cloud.flavors.ensure(type(small)("3", "three", 1, 512, 5, public=True))
    lease = cloud_world.lease({"resource_type": "flavor:instance", "flavor_id": 3, "amount": 1, "affinity": "None"})
    assert lease["reservations"][0]["memory_mb"] == 512


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


def test_http_api_5_2_changes_are_checked_against_the_owner(cloud_world: World) -> None:
    """Another project's lease is 403 for GET, PUT and DELETE, and does not change."""
    lease = cloud_world.lease()
    before = cloud_world.dump()
    for method, sent in (("GET", None), ("PUT", {"name": "mine"}), ("DELETE", None)):
        answer = cloud_world.ask(method, f"/leases/{lease['id']}", sent, headers={**MEMBER, "X-Project-Id": "alt"})
        assert answer.status_code == 403
    assert cloud_world.dump() == before


def test_http_api_5_2_lists_show_ones_own_project(cloud_world: World) -> None:
    """A member sees the leases of their project, an administrator the leases of all projects."""
    cloud_world.lease(name="of demo")
    mine = {**MEMBER, "X-Project-Id": "alt"}
    assert cloud_world.ask("POST", "/leases", body(cloud_world, name="of alt"), headers=mine).status_code == 201
    assert [each["name"] for each in cloud_world.get("/leases", headers=mine)["leases"]] == ["of alt"]
    assert {each["name"] for each in cloud_world.get("/leases")["leases"]} == {"of demo", "of alt"}


def test_http_api_5_3_unknown_keys_are_not_assigned(cloud_world: World) -> None:
    """No key of a request sets a column that clients must not set; the server chooses the ids."""
    stolen = {"id": "x", "degraded": True, "project_id": "alt", "user_id": "x", "trust_id": "x", "status": "ERROR"}
    lease = cloud_world.lease(**stolen)
    again = cloud_world.ask("PUT", f"/leases/{lease['id']}", {**stolen, "name": "new"}).json["lease"]
    for shown in (lease, again):
        assert not any(shown[key] == value for key, value in stolen.items())
    assert again["name"] == "new"


def test_http_api_5_4_events_in_an_update_are_ignored(cloud_world: World) -> None:
    """`"events": []` in a PUT, as in the published sample, removes no event."""
    lease = cloud_world.lease()
    answer = cloud_world.ask("PUT", f"/leases/{lease['id']}", {"events": [], "end_date": cloud_world.date(hours=3)})
    assert answer.status_code == 200
    assert len(cloud_world.show(lease)["events"]) == 3
    cloud_world.wait(hours=3, minutes=1)
    assert cloud_world.show(lease)["status"] == "TERMINATED"


def test_http_api_5_4_refused_updates_leave_the_status(cloud_world: World) -> None:
    """A refused update leaves the lease unchanged, never in ERROR."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(HOST)
    ident = lease["reservations"][0]["id"]
    cloud_world.wait(seconds=1)
    before = cloud_world.dump()
    changes: list[tuple[dict[str, Any], int]] = [
        ({"end_date": cloud_world.date(hours=-1)}, 400),
        ({"start_date": cloud_world.date(hours=1), "end_date": cloud_world.date(hours=2)}, 400),
        ({"before_end_date": cloud_world.date(days=9)}, 403),
        ({"reservations": [{"min": 1}]}, 400),
        ({"reservations": [{"id": "none-such", "min": 1}]}, 400),
        ({"reservations": [{"id": ident, "resource_type": "virtual:instance"}]}, 409),
        ({"reservations": [{"id": ident, "min": 5, "max": 5}]}, 409),
        ({"reservations": [{"id": ident, "resource_properties": '["==", "$nonsense", "1"]'}]}, 400),
    ]
    for change, status in changes:
        assert cloud_world.ask("PUT", f"/leases/{lease['id']}", change).status_code == status, change
    assert cloud_world.dump() == before


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


def test_http_api_6_1_only_what_is_not_over_yet(cloud_world: World) -> None:
    """Allocations of ended leases are not listed, whatever the filter."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(HOST, end_date=cloud_world.date(minutes=2))
    cloud_world.wait(minutes=3)
    assert cloud_world.show(lease)["status"] == "TERMINATED"
    for asked in ("", f"?lease_id={lease['id']}", f"?reservation_id={lease['reservations'][0]['id']}"):
        found = cloud_world.get(f"/os-hosts/allocations{asked}")["allocations"]
        assert [promise for each in found for promise in each["reservations"]] == []
