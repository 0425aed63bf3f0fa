"""Feature I9: what leases are for, from microversion 1.3 on; before, the key is unknown (decision 0154)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.leasing.reading.event_log import sequence_events
from tests.api.conftest import LEASE
from tests.api.test_leases import MAKE, made, make
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

WHY = "Measure the new switch — günstig 🚀"
WHOLE = "x" * 255
BAD = [7, True, ["why"], {"why": "so"}, "x" * 256, "two\nlines", "bell\a", "\u202edlrow", "a\u2028b"]
LEASES, SERIES, TEMPLATES = "/v1/leases", "/v1/series", "/v1/lease-templates"
WEEKLY = {**MAKE, "reservations": [hosts()], "rule": "FREQ=WEEKLY;COUNT=2"}
FLEXIBLE = {
    "name": "any",
    "earliest": "2031-06-01 00:00",
    "latest": "2031-06-02 00:00",
    "duration_seconds": 3600,
    "reservations": [hosts()],
}
CREATIONS = {LEASES: LEASE, "/v1/offers": LEASE, SERIES: WEEKLY, "/v1/flexible-leases": FLEXIBLE}


@pytest.fixture
def new(client: Client, host: str) -> Client:
    assert host
    return client.but(version="1.3")


@pytest.fixture
def strict(new: Client, service: Service, settings: ApiSettings) -> Client:
    """Return a client of a service whose operators require purposes."""
    leases = replace(service.settings.leases, purpose_required=True)
    requires = replace(service, settings=replace(service.settings, leases=leases))
    return new.but(web=LocalClient(make_app(requires, settings)))


def put(client: Client, lease: dict[str, Any], **changes: Any) -> testing.Result:
    return client.ask("PUT", f"{LEASES}/{lease['id']}", changes)


def test_a_purpose_is_kept_shown_listed_and_changed(new: Client) -> None:
    lease, other = made(new, purpose=WHY), made(new, name="other")
    assert lease["purpose"] == new.ask("GET", f"{LEASES}/{lease['id']}").json["lease"]["purpose"] == WHY
    assert "purpose" not in other
    for change, then in (
        ({"purpose": None}, WHY),
        ({"name": "m"}, WHY),
        ({"purpose": WHOLE}, WHOLE),
        ({"purpose": ""}, None),
    ):
        answer = put(new, lease, **change)
        assert (answer.status_code, answer.json["lease"].get("purpose")) == (200, then), change
    put(new, other, purpose=WHY)
    found = new.ask("GET", LEASES, params={"purpose": WHY}).json["leases"]
    assert [(each["id"], each["purpose"]) for each in found] == [(other["id"], WHY)]
    assert new.ask("GET", LEASES, params={"purpose": WHY.upper()}).json["leases"] == []
    refused = new.ask("GET", LEASES, params={"purpose": "x" * 256})
    assert (refused.status_code, refused.json["field"]) == (400, "purpose")


def test_a_change_of_dates_changes_the_purpose_with_it(new: Client) -> None:
    lease = made(new, purpose=WHY)
    answer = put(new, lease, end_date="2031-05-01 13:00", purpose="longer")
    assert (answer.status_code, answer.json["lease"]["purpose"]) == (200, "longer"), answer.text


@pytest.mark.parametrize("path", [*CREATIONS, TEMPLATES])
@pytest.mark.parametrize("value", BAD)
def test_what_is_no_purpose_is_refused_with_its_name(new: Client, path: str, value: Any) -> None:
    answer = new.ask("POST", path, {**CREATIONS.get(path, {"name": "t"}), "purpose": value})
    assert (answer.status_code, answer.json["field"]) == (400, "purpose"), answer.text
    assert new.ask("GET", path).json[next(iter(new.ask("GET", path).json))] == []


def test_an_amendment_to_what_is_no_purpose_changes_nothing(new: Client) -> None:
    lease = made(new, purpose=WHY)
    for value in BAD:
        assert put(new, lease, purpose=value, name="n").json["field"] == "purpose"
    assert new.ask("GET", f"{LEASES}/{lease['id']}").json["lease"] == lease


@pytest.mark.parametrize("version", [None, "1.0", "1.1"])
@pytest.mark.parametrize("value", [WHY, 7])
def test_older_versions_neither_read_nor_show_it(client: Client, new: Client, version: str | None, value: Any) -> None:
    old = client.but(version=version)
    lease = made(old, purpose=value)
    assert "purpose" not in new.ask("GET", f"{LEASES}/{lease['id']}").json["lease"]
    assert put(new, lease, purpose=WHY).status_code == 200
    assert put(old, lease, purpose=value, name="m").status_code == 200
    assert "purpose" not in old.ask("GET", f"{LEASES}/{lease['id']}").json["lease"]
    assert "purpose" not in old.ask("GET", LEASES, params={"purpose": "another"}).json["leases"][0]
    assert new.ask("GET", f"{LEASES}/{lease['id']}").json["lease"]["purpose"] == WHY


def test_the_version_before_refuses_it_as_unknown_and_shows_none(client: Client, new: Client, service: Service) -> None:
    old = client.but(version="1.2")
    series = new.ask("POST", SERIES, {**WEEKLY, "purpose": WHY}).json["series"]
    lease = series["occurrences"][0]["lease_id"]
    put_lease, put_series = f"{LEASES}/{lease}", f"{SERIES}/{series['id']}"
    sent: dict[tuple[str, str], dict[str, Any]] = {
        ("POST", LEASES): MAKE,
        ("PUT", put_lease): {},
        ("POST", SERIES): WEEKLY,
        ("PUT", put_series): {},
    }
    for (method, path), body in sent.items():
        answer = old.ask(method, path, {**body, "purpose": WHY})
        assert (answer.status_code, answer.json["code"]) == (400, "leasehold.input.unknown"), path
    assert old.ask("GET", LEASES, params={"purpose": WHY}).json["code"] == "leasehold.input.unknown"
    sequence_events(service)
    for path in (LEASES, f"{LEASES}/{lease}", SERIES, f"{SERIES}/{series['id']}", "/v1/events"):
        assert WHY in str(new.ask("GET", path).json), path
        assert "purpose" not in old.ask("GET", path).text, path


def test_every_way_to_a_lease_carries_it(new: Client) -> None:
    """An offer, a template, a flexible lease and a series, whose occurrences change with it."""
    offer = new.ask("POST", "/v1/offers", {**LEASE, "purpose": WHY}).json["offer"]
    assert offer["lease"]["purpose"] == WHY
    accepted = new.ask("POST", f"/v1/offers/{offer['id']}/accept", {}).json["lease"]
    assert accepted["purpose"] == WHY
    new.ask("DELETE", f"{LEASES}/{offer['id']}")
    template = new.ask("POST", TEMPLATES, {"name": "t", "reservations": [hosts()], "purpose": WHY}).json["template"]
    assert template["purpose"] == WHY
    like = {**MAKE, "template": "t"}
    for more, then in (({}, WHY), ({"purpose": "mine"}, "mine"), ({"purpose": None}, None)):
        lease = new.ask("POST", LEASES, {**like, **more}).json["lease"]
        assert lease.get("purpose") == then
        new.ask("DELETE", f"{LEASES}/{lease['id']}")
    flexible = new.ask("POST", "/v1/flexible-leases", {**FLEXIBLE, "purpose": WHY}).json["flexible_lease"]
    assert flexible["lease"]["purpose"] == WHY
    new.ask("DELETE", f"{LEASES}/{flexible['id']}")
    series = new.ask("POST", SERIES, {**WEEKLY, "purpose": WHY}).json["series"]
    assert (series["purpose"], purposes(new)) == (WHY, {WHY})
    changed = new.ask("PUT", f"{SERIES}/{series['id']}", {"purpose": "lab"}).json["series"]
    assert (changed["purpose"], purposes(new)) == ("lab", {"lab"})
    removed = new.ask("PUT", f"{SERIES}/{series['id']}", {"purpose": ""}).json["series"]
    assert ("purpose" in removed, purposes(new)) == (False, {None})


def purposes(client: Client) -> set[str | None]:
    return {each.get("purpose") for each in client.ask("GET", LEASES).json["leases"]}


def test_its_events_and_its_history_tell_of_it(new: Client, service: Service) -> None:
    lease = made(new, purpose=WHY)
    put(new, lease, purpose="other")
    put(new, lease, purpose="")
    sequence_events(service)
    events = new.ask("GET", "/v1/events").json["events"]
    assert [(each["type"], each["payload"].get("purpose")) for each in events] == [
        ("lease.create", WHY),
        ("lease.purpose", "other"),
        ("lease.purpose", None),
    ]
    changes = new.ask("GET", f"{LEASES}/{lease['id']}/history").json["changes"]
    assert [WHY in str(changes[0]), "other" in str(changes[1]), "other" in str(changes[2])] == [True, True, True]


@pytest.mark.parametrize("path", CREATIONS)
def test_operators_may_require_it(strict: Client, path: str) -> None:
    for more in ({}, {"purpose": None}, {"purpose": ""}, {"purpose": "  "}):
        answer = strict.ask("POST", path, {**CREATIONS[path], **more})
        assert (answer.status_code, answer.json["code"]) == (400, "leasehold.input.missing")
        assert answer.json["field"] == "purpose"
        assert "1 to 255 characters" in answer.json["error_message"]
    assert strict.ask("GET", LEASES).json["leases"] == []
    assert strict.ask("POST", path, {**CREATIONS[path], "purpose": WHY}).status_code == 201


def test_where_it_is_required_older_versions_are_told_which_one_has_it(strict: Client) -> None:
    for version in ("1.0", "1.1", "1.2"):
        answer = make(strict.but(version=version))
        assert (answer.status_code, answer.json["field"]) == (400, "purpose")
        assert "Microversion 1.3" in answer.json["error_message"]


def test_where_it_is_required_it_is_changed_and_never_removed(strict: Client) -> None:
    lease = made(strict, purpose=WHY)
    answer = put(strict, lease, purpose="")
    assert (answer.status_code, answer.json["field"]) == (400, "purpose")
    assert put(strict, lease, name="m").json["lease"]["purpose"] == WHY
    assert put(strict, lease, purpose="other").json["lease"]["purpose"] == "other"


def test_a_repeated_key_comes_with_the_same_purpose(new: Client) -> None:
    """A request without a purpose has the digest that an older version gave it."""
    headers = {"Idempotency-Key": "one"}
    first = new.ask("POST", LEASES, MAKE, headers=headers)
    again = new.but(version="1.0").ask("POST", LEASES, {**MAKE, "purpose": WHY}, headers=headers)
    other = new.ask("POST", LEASES, {**MAKE, "purpose": WHY}, headers=headers)
    assert [first.status_code, again.status_code, other.status_code] == [201, 201, 409]
