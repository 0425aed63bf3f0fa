"""GET /v1/timeline: what everybody sees of the estate, and what only operators do (decision 0095)."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Client, Clock

PATH = "/v1/timeline"
DAY = {"from": "2031-05-01 00:00", "to": "2031-05-02 00:00"}
HOUR = 3600


@pytest.fixture
def reader(client: Client) -> Client:
    return client.but(version="1.3")


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.3")


def asked(who: Client, known: str | None = None, **query: str) -> Any:
    headers = {} if known is None else {"If-None-Match": known}
    return who.ask("GET", f"{PATH}?{urlencode({**DAY, **query})}", headers=headers)


def shown(who: Client, **query: str) -> dict[str, Any]:
    answer = asked(who, **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json["timeline"]
    return found


def bars(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return row, start and end in hours, kind, name of the lease, and amount of each bar."""
    columns, names = found["bars"], found["leases"]["name"]
    amounts = [dict(zip(found["amounts"], each, strict=True)) for each in zip(*found["amounts"].values(), strict=True)]
    return [
        (
            row,
            start / HOUR,
            end if end == -1 else end / HOUR,
            found["kinds"][kind],
            None if lease == -1 else names[lease],
            None if amount == -1 else amounts[amount],
        )
        for row, start, end, kind, lease, amount in zip(*columns.values(), strict=True)
    ]


def lease(who: Client, name: str, start: int, end: int, *parts: dict[str, Any]) -> str:
    dates = {"start_date": f"2031-05-01 {start}:00", "end_date": f"2031-05-01 {end}:00"}
    body = {"name": name, **dates, "reservations": parts or [hosts(1)], "events": []}
    answer = who.ask("POST", "/v1/leases", body)
    assert answer.status_code == 201, answer.text
    return str(answer.json["lease"]["id"])


def hosts(amount: int) -> dict[str, Any]:
    conditions = {"hypervisor_properties": "", "resource_properties": ""}
    return {"resource_type": "physical:host", "min": amount, "max": amount, **conditions}


def instances(amount: int, vcpus: int = 1) -> dict[str, Any]:
    size = {"vcpus": vcpus, "memory_mb": 512, "disk_gb": 1, "affinity": None, "resource_properties": ""}
    return {"resource_type": "virtual:instance", "amount": amount, **size}


@pytest.fixture
def two(admin: Client, host: str) -> str:
    """Return the id of the first of two hosts, of which only the first has a rack."""
    assert admin.ask("POST", "/v1/os-hosts", {"name": "cmp-02"}).status_code == 201
    return host


def test_others_are_runs_without_a_name_and_mine_are_by_name(reader: Client, operator: Client, host: str) -> None:
    assert host
    other = reader.but(project="secret-project", user="mallory")
    lease(other, "first-of-theirs", 10, 12)
    lease(other, "second-of-theirs", 12, 14)
    lease(reader, "ours", 15, 16)
    found = shown(reader)
    assert bars(found) == [(0, 10, 14, "taken", None, None), (0, 15, 16, "lease", "ours", None)]
    assert found["leases"]["whose"] == ["mine"]
    text = asked(reader).text
    for word in ("secret-project", "mallory", "theirs", "cmp-01", str(12 * HOUR)):
        assert word not in text
    assert shown(reader.but(user="bob"))["leases"]["whose"] == ["project"]
    everything = shown(operator)
    assert [bar[:5] for bar in bars(everything)] == [
        (0, 10, 12, "lease", "first-of-theirs"),
        (0, 12, 14, "lease", "second-of-theirs"),
        (0, 15, 16, "lease", "ours"),
    ]
    assert everything["leases"]["project"] == ["secret-project", "secret-project", "demo"]
    assert everything["rows"]["name"] == ["cmp-01"]
    assert everything["rows"]["id"] == [host]


def test_rows_have_other_ids_in_another_project_and_show_what_is_public(
    reader: Client, admin: Client, two: str
) -> None:
    found = shown(reader)
    (rows, again, other) = (shown(who)["rows"] for who in (reader, reader.but(user="bob"), reader.but(project="p2")))
    assert rows["id"] == again["id"]
    assert not set(rows["id"]) & set(other["id"])
    assert two not in rows["id"]
    assert rows["name"] == [None, None]
    assert found["types"] == [
        {"resource_type": "physical:host", "identified": False, "cleaning_seconds": 0, "lead_seconds": 0}
    ]
    assert sorted(rows["properties"]["rack"]["index"]) == [-1, 0]
    assert rows["properties"]["rack"]["values"] == ["a1"]
    assert "hypervisor_hostname" not in rows["properties"]
    assert admin.ask("PATCH", "/v1/os-hosts/properties/rack", {"private": True}).status_code == 200
    assert "rack" not in shown(reader)["rows"]["properties"]
    assert "rack" in shown(admin.but(version="1.3"))["rows"]["properties"]


def test_instances_of_others_are_a_step_function(reader: Client, host: str) -> None:
    assert host
    for project, start, end in (("p1", 10, 13), ("p2", 11, 14)):
        lease(reader.but(project=project), "x", start, end, instances(1, 2))
    lease(reader, "ours", 12, 15, instances(2))
    one = {"DISK_GB": 1, "MEMORY_MB": 512, "VCPU": 2}
    both = {"DISK_GB": 2, "MEMORY_MB": 1024, "VCPU": 4}
    ours = {"DISK_GB": 2, "MEMORY_MB": 1024, "VCPU": 2}
    assert bars(shown(reader)) == [
        (0, 10, 11, "taken", None, one),
        (0, 11, 13, "taken", None, both),
        (0, 12, 15, "lease", "ours", ours),
        (0, 13, 14, "taken", None, one),
    ]


def test_an_answer_that_has_not_changed_is_not_sent(reader: Client, host: str, clock: Clock) -> None:
    assert host
    ident = lease(reader, "ours", 10, 12)
    first = asked(reader)
    tag = first.headers["ETag"]
    clock.now += timedelta(minutes=5)
    again = asked(reader, tag)
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    for who in (reader.but(user="bob"), reader.but(project="p2"), reader.but(user="admin", roles="admin")):
        assert asked(who, tag).status_code == 200
    assert asked(reader, tag, limit="1").status_code == 200
    assert reader.ask("PUT", f"/v1/leases/{ident}", {"name": "renamed"}).status_code == 200
    changed = asked(reader, tag)
    assert (changed.status_code, changed.json["timeline"]["leases"]["name"]) == (200, ["renamed"])
    # At the end of the lease it is being emptied, whether a manager has written anything or not.
    clock.now += timedelta(hours=4)
    late = asked(reader, changed.headers["ETag"])
    assert bars(late.json["timeline"]) == [
        (0, 10, 12, "lease", "renamed", None),
        (0, 12, -1, "emptying", "renamed", None),
    ]


def test_an_answer_is_compressed_for_who_accepts_it(reader: Client, host: str) -> None:
    assert host
    plain = asked(reader)
    packed = reader.ask("GET", f"{PATH}?{urlencode(DAY)}", headers={"Accept-Encoding": "deflate, gzip;q=1.0"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.content)) == plain.json
    assert "Content-Encoding" not in plain.headers
    refused = reader.ask("GET", f"{PATH}?{urlencode(DAY)}", headers={"Accept-Encoding": "gzip;q=0"})
    assert refused.content == plain.content


def test_operators_see_what_was_known_at_a_moment(reader: Client, operator: Client, host: str, clock: Clock) -> None:
    assert host
    moved, gone = lease(reader, "moved", 10, 12), lease(reader, "gone", 13, 14)
    lease(reader, "instances", 15, 16, instances(3))
    then = f"{clock.now:%Y-%m-%dT%H:%M:%SZ}"
    clock.now += timedelta(minutes=1)
    assert (
        reader.ask("PUT", f"/v1/leases/{moved}", {"name": "other", "end_date": "2031-05-01 11:00"}).status_code == 200
    )
    assert reader.ask("DELETE", f"/v1/leases/{gone}").status_code == 204
    found = shown(operator, as_of=then)
    assert (found["as_of"], found["bars"]["row"]) == ("2031-05-01T09:30:40+00:00", [])
    names = [found["leases"]["name"][place] for place in found["unplaced"]["lease"]]
    told = set(zip(names, found["unplaced"]["resource_type"], found["unplaced"]["amount"], strict=True))
    assert told == {
        ("moved", "physical:host", 1),
        ("gone", "physical:host", 1),
        ("instances", "virtual:instance", 3),
    }
    assert found["leases"]["end"][names.index("moved")] == 12 * HOUR
    assert found["rows"]["state"] == [-1]
    for who, moment, status in ((reader, then, 403), (operator, "2031-05-01 20:00", 400)):
        refused = asked(who, as_of=moment)
        assert (refused.status_code, refused.json["field"]) == (status, "as_of")


REFUSED = {
    "an empty window": ({"to": "2031-05-01 00:00"}, "to"),
    "an end before the start": ({"to": "2031-04-01 00:00"}, "to"),
    "a window of years": ({"to": "2035-05-01 00:00"}, "to"),
    "a type that is none": ({"resource_type": "physical:host,physical:horse"}, "resource_type"),
    "an expression that is none": ({"resource_properties": "["}, "resource_properties"),
    "a name": ({"resource_properties": '["==", "$hypervisor_hostname", "cmp-01"]'}, "resource_properties"),
    "no number": ({"resource_properties": '[">", "$vcpus", "8G"]'}, "resource_properties"),
    "an unknown property": ({"resource_properties": '["==", "$colour", "red"]'}, "resource_properties"),
    "a page that is too long": ({"limit": "1001"}, "limit"),
    "a marker of another project": ({"marker": "nope"}, "marker"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_answered_names_its_field(reader: Client, host: str, case: str) -> None:
    assert host
    query, field = REFUSED[case]
    answer = asked(reader, **query)
    assert (answer.status_code, answer.json["field"]) == (400, field), answer.text


def test_a_lease_that_changes_in_no_other_way_than_by_its_name_is_seen_whoever_is_late(
    reader: Client, operator: Client, host: str, clock: Clock
) -> None:
    assert host
    ident = lease(reader, "ours", 10, 12)
    clock.now += timedelta(hours=2)
    tags = {who: asked(who).headers["ETag"] for who in (reader, operator)}
    # The change is dated before the answers: its transaction began earlier, or its process's clock is behind.
    clock.now -= timedelta(minutes=50)
    assert reader.ask("PUT", f"/v1/leases/{ident}", {"name": "renamed"}).status_code == 200
    clock.now += timedelta(minutes=50)
    for who, tag in tags.items():
        changed = asked(who, tag)
        assert (changed.status_code, changed.json["timeline"]["leases"]["name"]) == (200, ["renamed"])
        assert asked(who, changed.headers["ETag"]).status_code == 304


def test_a_tag_of_the_day_before_yesterday_is_not_compared(reader: Client, host: str, clock: Clock) -> None:
    assert host
    tag = asked(reader).headers["ETag"]
    clock.now += timedelta(hours=23)
    assert asked(reader, tag).status_code == 304
    clock.now += timedelta(hours=3)
    assert asked(reader, tag).status_code == 200
