"""Features G2 to G4 by the API: how much is free and when, from 1.3 on, for everybody."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Client, Clock

PATH = "/v1/availability"
HOURS = {"from": "2031-05-01 08:00", "to": "2031-05-01 20:00"}


@pytest.fixture
def reader(client: Client) -> Client:
    return client.but(version="1.3")


def asked(who: Client, **query: str) -> Any:
    return who.ask("GET", f"{PATH}?{urlencode({**HOURS, **query})}")


def shown(who: Client, **query: str) -> dict[str, Any]:
    answer = asked(who, **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json["availability"]
    return found


def lease(who: Client, start: int, end: int, *parts: dict[str, Any]) -> None:
    dates = {"start_date": f"2031-05-01 {start}:00", "end_date": f"2031-05-01 {end}:00"}
    answer = who.ask("POST", "/v1/leases", {"name": "l", **dates, "reservations": parts, "events": []})
    assert answer.status_code == 201, answer.text


def hosts(amount: int) -> dict[str, Any]:
    conditions = {"hypervisor_properties": "", "resource_properties": ""}
    return {"resource_type": "physical:host", "min": amount, "max": amount, **conditions}


@pytest.fixture
def two(admin: Client, host: str) -> str:
    """Return the id of the first of two hosts, of which only the first has a rack."""
    assert admin.ask("POST", "/v1/os-hosts", {"name": "cmp-02"}).status_code == 201
    return host


def test_everybody_sees_how_much_is_free_and_when(reader: Client, two: str) -> None:
    assert two
    lease(reader.but(project="other"), 10, 14, hosts(1))
    lease(reader.but(project="other"), 12, 16, hosts(1))
    found = shown(reader.but(roles="reader"))
    times = [f"2031-05-01T{hour}Z" for hour in ("09:30:40", "10:00:00", "12:00:00", "14:00:00", "16:00:00")]
    assert found == {
        "resource_type": "physical:host",
        "unit": "hosts",
        "from": "2031-05-01T09:30:40+00:00",
        "to": "2031-05-01T20:00:00+00:00",
        "total": 2,
        "held_back": 0,
        "throughout": 0,
        "steps": {"from": times, "free": [2, 1, 0, 1, 2], "reserved": [0, 1, 2, 1, 0]},
    }
    assert "other" not in asked(reader).text
    assert shown(reader, resource_properties='["==", "$rack", "a1"]')["total"] == 1


def test_the_window_is_a_week_from_now_unless_it_is_said(reader: Client, two: str, clock: Clock) -> None:
    assert two
    clock.now += timedelta(milliseconds=700)
    found = reader.ask("GET", PATH).json["availability"]
    assert (found["from"], found["to"]) == ("2031-05-01T09:30:40+00:00", "2031-05-08T09:30:40+00:00")
    assert (found["throughout"], found["steps"]["free"]) == (2, [2])


def test_slots_are_counted_by_size_and_by_flavor(reader: Client, host: str) -> None:
    assert host
    size = {"resource_type": "virtual:instance", "vcpus": "4", "memory_mb": "1024", "disk_gb": "1"}
    whole = shown(reader, **size)
    assert whole["unit"] == "instances"
    assert whole["total"] == whole["throughout"] > 1
    assert shown(reader, **size, affinity="false")["total"] == 1
    part = {**size, "vcpus": 4, "memory_mb": 1024, "disk_gb": 1, "amount": 1, "affinity": None}
    lease(reader, 10, 11, {**part, "resource_properties": ""})
    assert shown(reader, **size)["steps"]["free"] == [whole["total"], whole["total"] - 1, whole["total"]]
    by_flavor = shown(reader, resource_type="flavor:instance", flavor_id="m1.small")
    assert (by_flavor["unit"], by_flavor["held_back"]) == ("instances of flavors", 0)
    assert by_flavor["throughout"] <= min(by_flavor["steps"]["free"])
    missing = asked(reader, resource_type="flavor:instance", flavor_id="m9.none")
    assert (missing.status_code, missing.json["details"]) == (404, {"flavor_id": "m9.none"})


def test_a_failed_or_disabled_host_is_held_back(reader: Client, admin: Client, two: str) -> None:
    assert admin.but(version="1.2").ask("PUT", f"/v1/os-hosts/{two}", {"disabled": True}).status_code == 200
    found = shown(reader)
    assert (found["total"], found["held_back"], found["steps"]["free"]) == (2, 1, [1])


def test_the_free_times_of_one_host_are_for_who_may_list_them(reader: Client, admin: Client, two: str) -> None:
    lease(reader, 10, 12, hosts(1))
    found = shown(admin.but(version="1.3"), resource_id=two)
    assert (found["total"], found["throughout"], found["steps"]["free"]) == (1, 0, [1, 0, 1])
    refused = asked(reader, resource_id=two)
    assert (refused.status_code, refused.json["field"]) == (403, "resource_id")
    unknown = asked(admin.but(version="1.3"), resource_id="nope")
    assert unknown.status_code == 404


REFUSED = {
    "a window in the past": ({"from": "2031-05-01 08:00", "to": "2031-05-01 09:00"}, "to"),
    "an end before the start": ({"from": "2031-05-01 12:00", "to": "2031-05-01 11:00"}, "to"),
    "a date that is none": ({"from": "soon"}, "from"),
    "a type that is none": ({"resource_type": "physical:horse"}, "resource_type"),
    "a size that is missing": ({"resource_type": "virtual:instance", "vcpus": "1", "memory_mb": "1"}, "disk_gb"),
    "a size that is none": (
        {"resource_type": "virtual:instance", "vcpus": "x", "memory_mb": "1", "disk_gb": "1"},
        "vcpus",
    ),
    "a condition that is none": ({"resource_properties": "["}, "resource_properties"),
    "a property that no host has": ({"resource_properties": '["==", "$gpu", "1"]'}, "resource_properties"),
    "a name of a host": (
        {"hypervisor_properties": '["==", "$hypervisor_hostname", "cmp-01"]'},
        "hypervisor_properties",
    ),
    "a key that nothing reads": ({"colour": "red"}, "colour"),
}


@pytest.mark.parametrize(("query", "field"), REFUSED.values(), ids=REFUSED)
def test_a_bad_question_is_refused(reader: Client, two: str, query: dict[str, str], field: str) -> None:
    assert two
    answer = asked(reader, **query)
    assert answer.status_code in (400, 404), answer.text
    assert answer.json["field"] == field
    assert answer.json["error_message"]


def test_a_question_that_leaves_out_what_is_counted_is_told_how_to_ask(reader: Client) -> None:
    answer = asked(reader, resource_type="virtual:floatingip")
    assert (answer.status_code, answer.json["code"]) == (400, "leasehold.input.missing")
    assert answer.json["details"] == {"missing": ["network_id"]}
    assert answer.json["error_message"] == (
        "Missing parameter network_id. Add what tells floating IPs apart to the query, as a reservation has it: "
        "resource_type=virtual:floatingip&network_id=…."
    )


def test_older_versions_do_not_know_it(client: Client) -> None:
    for version in ("1.0", "1.1", "1.2"):
        old = client.but(version=version)
        assert [old.ask("GET", PATH).status_code, old.ask("POST", f"{PATH}/search", {}).status_code] == [404] * 2


# ---------------------------------------------------------------- the search for windows


def search(who: Client, **body: Any) -> Any:
    return who.ask("POST", f"{PATH}/search", {"duration_seconds": 7200, **body})


def test_the_first_windows_are_found_and_granted(reader: Client, two: str) -> None:
    assert two
    lease(reader.but(project="other"), 10, 14, hosts(2))
    asked = [hosts(2)], [hosts(1)], [hosts(3)]
    found = search(reader.but(roles="reader"), alternatives=asked, start_date="2031-05-01 09:00", limit=2)
    assert found.status_code == 200, found.text
    first, second = found.json["windows"]
    assert first == {
        "alternative": 0,
        "start_date": "2031-05-01T14:00:00+00:00",
        "end_date": "2031-05-01T16:00:00+00:00",
        "reservations": [{"resource_type": "physical:host", "amount": 2}],
    }
    assert second == {**first, "alternative": 1, "reservations": [{"resource_type": "physical:host", "amount": 1}]}
    (refused,) = found.json["refused"]
    assert (refused["alternative"], refused["code"]) == (2, "leasehold.resources.not_enough")
    assert (refused["details"]["largest"], "other" in found.text) == (0, False)
    body = {"name": "l", "reservations": asked[0], "events": [], "start_date": first["start_date"]}
    assert reader.ask("POST", "/v1/leases", {**body, "end_date": first["end_date"]}).status_code == 201


def test_reservations_alone_are_one_alternative(reader: Client, two: str) -> None:
    assert two
    lease(reader.but(project="other"), 12, 14, hosts(2))
    asked = {"reservations": [hosts(1)], "start_date": "2031-05-01 11:00", "end_date": "2031-05-01 14:00"}
    assert search(reader, **asked).json["windows"] == []
    (found,) = search(reader, **asked, shortest_seconds=600).json["windows"]
    assert (found["start_date"], found["end_date"]) == ("2031-05-01T11:00:00+00:00", "2031-05-01T12:00:00+00:00")


WRONG = {
    "neither": ({}, "reservations"),
    "both": ({"reservations": [hosts(1)], "alternatives": [[hosts(1)]]}, "reservations"),
    "no alternative": ({"alternatives": []}, "alternatives"),
    "nothing in one": ({"alternatives": [[]]}, "alternatives[0]"),
    "an unknown key": ({"alternatives": [[{**hosts(1), "colour": "red"}]]}, "alternatives[0][0].colour"),
    "an unknown key of reservations": ({"reservations": [{**hosts(1), "colour": 1}]}, "reservations[0].colour"),
    "an amount that is none": ({"alternatives": [[hosts(1)], [hosts(0)]]}, "alternatives[1][0].min"),
    "an amount of reservations": ({"reservations": [hosts(1), hosts(0)]}, "reservations[1].min"),
    "a longer shortest": ({"reservations": [hosts(1)], "shortest_seconds": 7201}, "shortest_seconds"),
    "an early end": ({"reservations": [hosts(1)], "end_date": "2031-05-01 10:00"}, "end_date"),
    "a late start": ({"reservations": [hosts(1)], "latest_start_date": "2031-05-01 09:00"}, "latest_start_date"),
    "too many windows": ({"reservations": [hosts(1)], "limit": 21}, "limit"),
}


@pytest.mark.parametrize(("body", "field"), WRONG.values(), ids=WRONG)
def test_a_wrong_search_is_refused(reader: Client, two: str, body: dict[str, Any], field: str) -> None:
    assert two
    answer = search(reader, **body)
    assert (answer.status_code, answer.json["field"]) == (400, field), answer.text


def test_only_who_may_give_hosts_back_searches_for_it(reader: Client, admin: Client, two: str) -> None:
    assert two
    asked = {"reservations": [{**hosts(1), "on_end": "give_back"}]}
    assert search(reader, **asked).status_code == 403
    assert search(admin.but(version="1.3"), **asked).status_code == 200


def properties(who: Client, **query: str) -> dict[str, list[str]]:
    answer = who.ask("GET", f"{PATH}/properties?{urlencode(query)}")
    assert answer.status_code == 200, answer.text
    return {each["property"]: each["values"] for each in answer.json["properties"]}


def test_everybody_sees_by_what_to_choose_and_which_values_there_are(reader: Client, admin: Client, two: str) -> None:
    everybody = reader.but(project="other", roles="reader")
    found = properties(everybody)
    assert found["rack"] == ["a1"]
    sizes = [str(each["vcpus"]) for each in admin.ask("GET", "/v1/os-hosts").json["hosts"]]
    assert found["vcpus"] == sorted(set(sizes), key=int)
    # What tells one host from all others is for who may list hosts (decision 0018).
    assert not found.keys() & {"id", "hypervisor_hostname", "service_name", "created_at", "updated_at", "reservable"}
    assert properties(everybody, resource_type="virtual:instance") == found
    # What it says can be asked for.
    for name, values in found.items():
        asking = {"resource_properties": f'["==", "${name}", {json.dumps(values[0])}]'}
        assert shown(everybody, **asking)["total"] >= 1, name
    assert admin.ask("PATCH", "/v1/os-hosts/properties/rack", {"private": True}).status_code == 200
    assert "rack" not in properties(everybody)
    assert properties(reader.but(roles="admin"))["rack"] == ["a1"]
    # A host for some projects is not there for the others.
    assert admin.but(version="1.3").ask("PUT", f"/v1/os-hosts/{two}", {"projects": ["lab"]}).status_code == 200
    assert "rack" not in properties(admin.but(version="1.3", project="other", roles="member"))
    assert everybody.ask("GET", f"{PATH}/properties?resource_type=none-such").status_code == 400


def test_of_many_values_the_first_are_shown(
    reader: Client, admin: Client, two: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, value in ((two, "10"), ("2", "9")):
        assert admin.ask("PUT", f"/v1/os-hosts/{number}", {"slot": value}).status_code == 200
    assert properties(reader)["slot"] == ["9", "10"]
    monkeypatch.setattr("leasehold.leasing.resources.property.MOST_VALUES", 1)
    (slot,) = [
        each for each in reader.ask("GET", f"{PATH}/properties").json["properties"] if each["property"] == "slot"
    ]
    assert slot == {"property": "slot", "values": ["9"], "left_out": 1}
