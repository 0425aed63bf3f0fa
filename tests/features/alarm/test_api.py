"""Capacity alarms by the API: for members of a project, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features.alarm.use import AlarmWatch
from leasehold.leasing.reading.event_log import sequence_events
from tests.factory import hosts

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

pytestmark = pytest.mark.slow

PATH = "/v1/alarms"
OF_RACK = {
    "resource_type": "physical:host",
    "hypervisor_properties": "",
    "resource_properties": '["==", "$rack", "a1"]',
}


def make(client: Client, reservation: Any = OF_RACK, below: int = 1, **more: Any) -> testing.Result:
    return client.ask("POST", PATH, {"reservation": reservation, "below": below, **more})


@pytest.fixture
def member(client: Client, host: str) -> Client:
    """Return a member of a project, where there is one host."""
    assert host
    return client.but(version="1.2")


def test_an_alarm_is_made_checked_told_of_and_deleted(member: Client, service: Service, clock: Clock) -> None:
    answer = make(member, name="a1")
    assert answer.status_code == 201
    made = answer.json["alarm"]
    assert made == {
        "id": made["id"],
        "name": "a1",
        "project_id": "demo",
        "user_id": "alice",
        "reservation": OF_RACK,
        "below": 1,
        "duration": 3600,
        "state": "unknown",
        "available": None,
        "reason": "It was not checked yet.",
        "created_at": "2031-05-01T09:30:40+00:00",
        "changed_at": None,
        "checked_at": None,
    }
    one = f"{PATH}/{made['id']}"
    now = clock.now.isoformat()
    assert AlarmWatch(service).check() == 0
    checked = {**made, "state": "ok", "available": 1, "reason": None, "changed_at": now, "checked_at": now}
    assert member.ask("GET", one).json == {"alarm": checked}
    lease = {"name": "l", "start_date": "now", "end_date": "2031-05-01 12:00", "reservations": [hosts()]}
    assert member.ask("POST", "/v1/leases", {**lease, "events": []}).status_code == 201
    assert AlarmWatch(service).check() == 1
    assert member.ask("GET", PATH).json == {"alarms": [{**checked, "state": "low", "available": 0}]}
    sequence_events(service)
    events = member.ask("GET", "/v1/events").json["events"]
    assert [event["type"] for event in events] == ["lease.create", "capacity.low"]
    told = events[1]
    assert (told["project_id"], told["lease_id"], told["resource_id"], told["time"]) == ("demo", None, None, now)
    assert (told["payload"]["id"], told["payload"]["available"], told["payload"]["below"]) == (made["id"], 0, 1)
    narrow = member.ask("GET", "/v1/events", query_string=f"lease_id={events[0]['lease_id']}").json["events"]
    assert [event["type"] for event in narrow] == ["lease.create"]
    assert member.ask("DELETE", one).status_code == 204
    assert [member.ask(method, one).status_code for method in ("GET", "DELETE")] == [404, 404]


def test_other_projects_neither_see_nor_delete_it_and_readers_read(member: Client, admin: Client) -> None:
    made = make(member).json["alarm"]
    one, admin = f"{PATH}/{made['id']}", admin.but(version="1.2", project="ops")
    other, reader = member.but(project="other"), member.but(roles="reader")
    assert [other.ask(method, one).status_code for method in ("GET", "DELETE")] == [403, 403]
    assert other.ask("GET", PATH).json == admin.ask("GET", PATH).json == {"alarms": []}
    assert reader.ask("GET", PATH).json == {"alarms": [made]}
    assert [make(reader).status_code, reader.ask("DELETE", one).status_code] == [403, 403]
    everything = f"{PATH}?all_projects=true"
    assert admin.ask("GET", everything).json == {"alarms": [made]}
    refused = member.ask("GET", everything)
    assert (refused.status_code, refused.json["field"]) == (403, "all_projects")
    assert admin.ask("DELETE", one).status_code == 204


def test_a_private_property_is_one_that_does_not_exist(member: Client, admin: Client) -> None:
    assert admin.ask("PATCH", "/v1/os-hosts/properties/rack", {"private": True}).status_code == 200
    private = make(member)
    unknown = make(member, {**OF_RACK, "resource_properties": '["==", "$ruck", "a1"]'})
    assert (private.status_code, private.json["field"]) == (400, "reservation.resource_properties")
    assert private.text.replace("rack", "ruck") == unknown.text
    named = make(member, {**OF_RACK, "hypervisor_properties": '["==", "$hypervisor_hostname", "cmp-01"]'})
    assert (named.status_code, named.json["field"]) == (400, "reservation.hypervisor_properties")
    assert make(admin.but(version="1.2")).status_code == 201


def test_what_says_how_many_is_optional_and_has_no_effect(member: Client) -> None:
    made = [make(member, {**OF_RACK, **counts}).json["alarm"] for counts in ({}, {"min": 7, "max": 9})]
    assert [each["reservation"] for each in made] == [OF_RACK, OF_RACK]
    half = make(member, {**OF_RACK, "min": 7})
    assert (half.status_code, half.json["field"]) == (400, "reservation.max")
    other = make(member, {**OF_RACK, "amount": 1})
    assert (other.json["code"], other.json["field"]) == ("leasehold.input.unknown", "reservation.amount")


def test_a_project_has_so_many_and_no_more(member: Client) -> None:
    answers = [make(member).status_code for _ in range(21)]
    assert answers == [201] * 20 + [403]
    refused = make(member).json
    assert (refused["code"], refused["details"]) == ("leasehold.alarms.too_many", {"limit": 20})
    assert make(member.but(project="other")).status_code == 201


def test_they_are_new_in_1_2(client: Client) -> None:
    for method, path in (("GET", PATH), ("POST", PATH), ("GET", f"{PATH}/x"), ("DELETE", f"{PATH}/x")):
        assert client.but(version="1.1").ask(method, path).status_code == 404
