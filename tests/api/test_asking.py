"""Features A13, A15, A16: durations, dates that move from where they are, one reservation less; from 1.3 on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.api.test_leases import HOST, MAKE, made
from tests.factory import instances

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.conftest import Client, Clock

START = MAKE["start_date"]
LASTING: dict[str, Any] = {"name": "n", "start_date": START}
SERIES = {**LASTING, "rule": "FREQ=DAILY;COUNT=2", "reservations": []}
SHIFTS = ("extend_seconds", "shorten_seconds", "start_later_seconds", "start_earlier_seconds")
WRONG = [0, -1, 1.5, True, "3600", [], 10**12]


@pytest.fixture
def new(client: Client) -> Client:
    return client.but(version="1.3")


def change(client: Client, lease: dict[str, Any], key: str | None = "fresh", **body: Any) -> testing.Result:
    """Amend a lease with a key: a fresh one, this one, or none."""
    headers = {} if key is None else {"Idempotency-Key": str(uuid4()) if key == "fresh" else key}
    return client.ask("PUT", f"/v1/leases/{lease['id']}", body, headers=headers)


def length(lease: dict[str, Any]) -> timedelta:
    return datetime.fromisoformat(lease["end_date"]) - datetime.fromisoformat(lease["start_date"])


def dates(lease: dict[str, Any]) -> tuple[str, str]:
    """Return the hours and minutes of start and end."""
    return lease["start_date"][11:16], lease["end_date"][11:16]


def shown(client: Client, lease: dict[str, Any]) -> tuple[str, str]:
    return dates(client.ask("GET", f"/v1/leases/{lease['id']}").json["lease"])


# ---------------------------------------------------------------- a duration in place of an end


def test_a_duration_counts_from_the_start(new: Client) -> None:
    lease = new.ask("POST", "/v1/leases", {**LASTING, "duration_seconds": 5400}).json["lease"]
    assert dates(lease) == ("10:00", "11:30")


@pytest.mark.parametrize("path", ["leases", "offers", "series", "maintenances"])
def test_a_length_from_now_is_not_cut(new: Client, host: str, clock: Clock, path: str) -> None:
    clock.now = clock.now.replace(second=48, microsecond=250_000)
    ask = new.but(roles="admin,member,reader") if path == "maintenances" else new
    more = {"leases": {}, "offers": {"reservations": [HOST]}, "series": SERIES, "maintenances": {"hosts": [host]}}[path]
    body = {**more, "name": "n", "start_date": "now", "duration_seconds": 120}
    made = ask.ask("POST", f"/v1/{path}", body)
    assert made.status_code == 201, made.text
    shown = next(iter(made.json.values()))
    lease = {"series": lambda: shown["occurrences"][0], "offers": lambda: shown["lease"]}.get(path, lambda: shown)()
    assert lease["end_date"] == f"{clock.now + timedelta(seconds=120):%Y-%m-%dT%H:%M:%S}.000000"
    assert length(lease) == timedelta(seconds=120)


def test_a_lease_ends_now_in_the_minute_in_which_it_began(client: Client, new: Client, host: str, clock: Clock) -> None:
    """Dates of 1.0 have no seconds, and the lease began with some."""
    assert host
    for asker, end in ((client, ":48"), (new, ":59")):
        clock.now = clock.now.replace(second=48)
        lease = new.ask("POST", "/v1/leases", {**LASTING, "start_date": "now", "duration_seconds": 600}).json["lease"]
        clock.now = clock.now.replace(second=59)
        ended = change(asker, lease, None, end_date="now")
        assert ended.status_code == 200, ended.text
        assert ended.json["lease"]["end_date"][16:19] == end


def test_a_series_and_a_maintenance_window_have_durations_too(new: Client, admin: Client, host: str) -> None:
    made = new.ask("POST", "/v1/series", {**SERIES, "duration_seconds": 3600}).json["series"]
    assert [dates(each) for each in made["occurrences"]] == [("10:00", "11:00")] * 2
    body = {**LASTING, "hosts": [host], "duration_seconds": 3600}
    window = admin.but(version="1.3").ask("POST", "/v1/maintenances", body).json["maintenance"]
    assert dates(window) == ("10:00", "11:00")


@pytest.mark.parametrize(("path", "body"), [("/v1/leases", LASTING), ("/v1/series", SERIES)])
def test_an_end_or_a_duration_is_needed_and_not_both(new: Client, path: str, body: dict[str, Any]) -> None:
    neither = new.ask("POST", path, body)
    assert (neither.status_code, neither.json["code"]) == (400, "leasehold.input.missing")
    assert (neither.json["field"], neither.json["details"]) == ("end_date", {"missing": ["end_date"]})
    both = new.ask("POST", path, {**body, "end_date": MAKE["end_date"], "duration_seconds": 7200})
    assert (both.status_code, both.json["field"]) == (400, "duration_seconds")
    for wrong in WRONG:
        refused = new.ask("POST", path, {**body, "duration_seconds": wrong})
        assert (refused.status_code, refused.json["field"]) == (400, "duration_seconds"), wrong
    assert new.ask("GET", "/v1/leases").json["leases"] == []


def test_all_that_is_missing_is_named_at_once(client: Client, new: Client) -> None:
    assert client.ask("POST", "/v1/leases", {}).json["details"] == {"missing": ["name", "start_date", "end_date"]}
    assert new.ask("POST", "/v1/leases", {}).json["details"] == {"missing": ["name", "start_date", "end_date"]}
    with_one = new.ask("POST", "/v1/leases", {"duration_seconds": 60})
    assert with_one.json["details"] == {"missing": ["name", "start_date"]}
    null = client.ask("POST", "/v1/leases", {**LASTING, "end_date": None})
    assert (null.status_code, null.json["code"], null.json["field"]) == (400, "leasehold.input.invalid", "end_date")


def test_a_refusal_of_the_end_names_the_duration(new: Client) -> None:
    """The error is the one of an end; it names the key that the client has sent."""
    passed = new.ask("POST", "/v1/leases", {**LASTING, "start_date": "2031-05-01 09:29", "duration_seconds": 1})
    assert (passed.status_code, passed.json["field"]) == (400, "duration_seconds")
    late = new.ask("POST", "/v1/leases", {**LASTING, "duration_seconds": 8000 * 365 * 86400})
    assert (late.json["code"], late.json["field"]) == ("leasehold.input.date", "duration_seconds")


def test_a_duration_is_part_of_what_an_idempotency_key_stands_for(new: Client) -> None:
    def ask(seconds: int) -> testing.Result:
        return new.ask("POST", "/v1/leases", {**LASTING, "duration_seconds": seconds}, headers={"Idempotency-Key": "k"})

    first, again, other = ask(60), ask(60), ask(61)
    assert first.json["lease"]["id"] == again.json["lease"]["id"]
    assert other.status_code == 409


# ---------------------------------------------------------------- dates that move from where they are


def test_dates_move_from_where_they_are(new: Client, host: str) -> None:
    assert host
    lease = made(new, reservations=[HOST])
    assert dates(change(new, lease, extend_seconds=3600).json["lease"]) == ("10:00", "13:00")
    assert dates(change(new, lease, extend_seconds=1800).json["lease"]) == ("10:00", "13:30")
    assert dates(change(new, lease, shorten_seconds=900).json["lease"]) == ("10:00", "13:15")
    assert dates(change(new, lease, start_later_seconds=900).json["lease"]) == ("10:15", "13:15")
    assert dates(change(new, lease, start_earlier_seconds=1800).json["lease"]) == ("09:45", "13:15")
    both = change(new, lease, start_later_seconds=3600, extend_seconds=3600, name="moved")
    assert (dates(both.json["lease"]), both.json["lease"]["name"]) == (("10:45", "14:15"), "moved")
    mixed = change(new, lease, start_date="2031-05-01 11:00", shorten_seconds=900)
    assert dates(mixed.json["lease"]) == ("11:00", "14:00")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"end_date": MAKE["end_date"], "extend_seconds": 1}, "extend_seconds"),
        ({"end_date": MAKE["end_date"], "shorten_seconds": 1}, "shorten_seconds"),
        ({"extend_seconds": 1, "shorten_seconds": 1}, "shorten_seconds"),
        ({"start_date": START, "start_later_seconds": 1}, "start_later_seconds"),
        ({"start_later_seconds": 1, "start_earlier_seconds": 1}, "start_earlier_seconds"),
        ({"shorten_seconds": 7201}, "shorten_seconds"),
        ({"start_later_seconds": 7201}, "end_date"),
        ({"start_earlier_seconds": 7200}, "start_earlier_seconds"),
        ({"extend_seconds": 8000 * 365 * 86400}, "extend_seconds"),
        *(({name: wrong}, name) for name in SHIFTS for wrong in WRONG),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(new: Client, body: dict[str, Any], field: str) -> None:
    lease = made(new)
    refused = change(new, lease, **body)
    assert (refused.status_code, refused.json["field"]) == (400, field)
    assert shown(new, lease) == ("10:00", "12:00")


def test_the_start_of_a_lease_that_has_begun_stays(new: Client, clock: Clock) -> None:
    lease = made(new, start_date="now")
    clock.now = clock.now.replace(hour=10)
    refused = change(new, lease, start_later_seconds=60)
    assert (refused.status_code, refused.json["field"]) == (400, "start_later_seconds")
    assert dates(change(new, lease, extend_seconds=60).json["lease"]) == ("09:30", "12:01")


# ---------------------------------------------------------------- once, however often it is sent


def test_a_relative_change_is_made_once_for_each_key(new: Client) -> None:
    lease = made(new)
    answers = [change(new, lease, "one", extend_seconds=3600) for _ in range(3)]
    assert [(each.status_code, dates(each.json["lease"])) for each in answers] == [(200, ("10:00", "13:00"))] * 3
    change(new, lease, "two", extend_seconds=3600)
    # A late copy of the first request changes nothing, and tells how the lease is now.
    assert dates(change(new, lease, "one", extend_seconds=3600).json["lease"]) == ("10:00", "14:00")


def test_a_key_of_another_request_is_refused(new: Client) -> None:
    lease, other = made(new), made(new)
    made_with = new.ask("POST", "/v1/leases", MAKE, headers={"Idempotency-Key": "post"})
    assert made_with.status_code == 201
    assert change(new, lease, "one", extend_seconds=60).status_code == 200
    for key, which, body in (
        ("one", lease, {"extend_seconds": 61}),
        ("one", other, {"extend_seconds": 60}),
        ("one", lease, {"end_date": MAKE["end_date"]}),
        ("post", lease, {"extend_seconds": 60}),
    ):
        refused = change(new, which, key, **body)
        assert (refused.status_code, refused.json["field"]) == (409, "Idempotency-Key")
    again = new.ask("POST", "/v1/leases", MAKE, headers={"Idempotency-Key": "one"})
    assert again.status_code == 409
    assert [shown(new, each) for each in (lease, other)] == [("10:00", "12:01"), ("10:00", "12:00")]


def test_a_relative_change_needs_a_key_or_an_etag(new: Client) -> None:
    lease = made(new)
    path, body = f"/v1/leases/{lease['id']}", {"extend_seconds": 3600}
    for headers in ({}, {"If-Match": "*"}):
        refused = new.ask("PUT", path, body, headers=headers)
        assert (refused.status_code, refused.json["field"]) == (400, "Idempotency-Key")
    etag = new.ask("GET", path).headers["ETag"]
    answers = [new.ask("PUT", path, body, headers={"If-Match": etag}) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 412]
    # With both, a request that is sent again is answered, although the lease has changed by it.
    both = {"If-Match": answers[0].headers["ETag"], "Idempotency-Key": "k"}
    assert [new.ask("PUT", path, body, headers=both).status_code for _ in range(2)] == [200, 200]
    assert shown(new, lease) == ("10:00", "14:00")


def test_an_absolute_change_may_have_a_key(new: Client) -> None:
    """A late copy of a request does not undo what was changed since."""
    lease = made(new)
    assert change(new, lease, "one", name="a").json["lease"]["name"] == "a"
    assert change(new, lease, "two", name="b").json["lease"]["name"] == "b"
    assert change(new, lease, "one", name="a").json["lease"]["name"] == "b"
    assert change(new, lease, "\t", name="a").status_code == 400
    assert change(new, lease, None, name="c").json["lease"]["name"] == "c"


# ---------------------------------------------------------------- one reservation less


def drop(client: Client, lease: dict[str, Any], position: int = 0, etag: str | None = None) -> testing.Result:
    part = lease["reservations"][position]["id"]
    headers = {} if etag is None else {"If-Match": etag}
    return client.ask("DELETE", f"/v1/leases/{lease['id']}/reservations/{part}", headers=headers)


def test_a_lease_loses_one_reservation(new: Client, host: str) -> None:
    assert host
    lease = made(new, reservations=[instances(), instances(2)])
    etag = new.ask("GET", f"/v1/leases/{lease['id']}").headers["ETag"]
    assert drop(new, lease, etag='"77"').status_code == 412
    answer = drop(new, lease, etag=etag)
    assert (answer.status_code, answer.content) == (204, b"")
    again, last = drop(new, lease), drop(new, lease, 1)
    assert (again.status_code, again.json["code"]) == (404, "leasehold.not_found")
    assert (last.status_code, last.json["field"]) == (409, "reservation_id")
    held = new.ask("GET", f"/v1/leases/{lease['id']}/resources").json["reservations"]
    assert [len(each["resources"]) for each in held] == [0, 1]
    change = {"reservations": [{"id": lease["reservations"][0]["id"], "amount": 1}]}
    assert new.ask("PUT", f"/v1/leases/{lease['id']}", change).status_code == 400
    for version in ("1.0", "1.2"):
        assert drop(new.but(version=version), lease, 1).status_code == 404


# ---------------------------------------------------------------- one resource less


def take_out(client: Client, lease: dict[str, Any], resource: str, etag: str | None = None) -> testing.Result:
    path = f"/v1/leases/{lease['id']}/reservations/{lease['reservations'][0]['id']}/resources/{resource}"
    return client.ask("DELETE", path, headers={} if etag is None else {"If-Match": etag})


def test_a_reservation_loses_one_resource(new: Client, admin: Client, host: str) -> None:
    assert admin.ask("POST", "/v1/os-hosts", {"name": "cmp-02"}).status_code == 201
    boss = admin.but(version="1.3")
    lease = made(new, reservations=[{**HOST, "max": 2}])
    listed = boss.ask("GET", f"/v1/leases/{lease['id']}/resources").json["reservations"][0]["resources"]
    other = next(each["id"] for each in listed if each["id"] != host)
    denied = take_out(new, lease, other)
    assert (denied.status_code, denied.json["details"]) == (403, {"rule": "blazar:oshosts:get"})
    assert take_out(boss, lease, other, etag='"77"').status_code == 412
    for _ in range(2):
        answer = take_out(boss, lease, other)
        assert (answer.status_code, answer.content) == (204, b"")
    (part,) = new.ask("GET", f"/v1/leases/{lease['id']}").json["lease"]["reservations"]
    assert (part["min"], part["max"]) == (1, 1)
    last, unknown = take_out(boss, lease, host), take_out(boss, lease, "no-such")
    assert (last.status_code, last.json["field"]) == (409, "resource_id")
    assert (unknown.status_code, unknown.json["code"]) == (404, "leasehold.not_found")
    for version in ("1.0", "1.2"):
        assert take_out(boss.but(version=version), lease, other).status_code == 404


# ---------------------------------------------------------------- older versions


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_older_versions_ignore_the_keys(client: Client, version: str) -> None:
    old = client.but(version=version)
    lease = made(old, duration_seconds="soon")
    assert dates(lease) == ("10:00", "12:00")
    assert old.ask("POST", "/v1/leases", {**LASTING, "duration_seconds": 60}).status_code == 400
    answer = old.ask("PUT", f"/v1/leases/{lease['id']}", {"name": "m", **dict.fromkeys(SHIFTS, 60)})
    assert (answer.status_code, dates(answer.json["lease"])) == (200, ("10:00", "12:00"))
    # The header is not read either: the same key comes with two requests.
    assert [change(old, lease, "k", name=name).json["lease"]["name"] for name in "ab"] == ["a", "b"]


def test_1_2_refuses_the_keys(client: Client, host: str) -> None:
    old = client.but(version="1.2")
    lease = made(old)
    asked = [
        ("POST", "/v1/leases", {**MAKE, "duration_seconds": 60}),
        ("POST", "/v1/series", {**SERIES, "duration_seconds": 60}),
        *(("PUT", f"/v1/leases/{lease['id']}", {name: 60}) for name in SHIFTS),
    ]
    for method, path, body in asked:
        refused = old.ask(method, path, body)
        assert (refused.status_code, refused.json["code"]) == (400, "leasehold.input.unknown")
        assert refused.json["field"] not in refused.json["details"]["known"]
    admin = old.but(roles="admin,member,reader")
    refused = admin.ask("POST", "/v1/maintenances", {**LASTING, "hosts": [host], "duration_seconds": 60})
    assert (refused.status_code, refused.json["code"]) == (400, "leasehold.input.unknown")
