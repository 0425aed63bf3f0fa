"""Fillers by the API: for members of a project, from 1.3 on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features.filler.options import FillerSettings
from leasehold.features.filler.rounds import Rounds
from tests.factory import hosts, instances

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

ALL = "/v1/fillers"
IDLE = {"reservation": hosts(), "name": "idle", "at_least": 1800}


@pytest.fixture
def member(client: Client) -> Client:
    return client.but(version="1.3")


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.3")


def made(member: Client, **more: Any) -> dict[str, Any]:
    answer = member.ask("POST", ALL, {**IDLE, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json["filler"]
    return found


def test_there_are_none_by_default_and_it_is_said_what_to_do() -> None:
    assert FillerSettings().hosts == 0
    settings = FillerSettings(every=timedelta(seconds=5))
    assert settings.leaving == settings.evict + timedelta(seconds=10)
    assert settings.takes == settings.leaving + settings.notice


def test_a_filler_from_its_grant_to_its_end(
    service: Service, member: Client, operator: Client, host: str, clock: Clock
) -> None:
    filler = made(member)
    (place,) = filler["hosts"]
    assert (filler["state"], filler["at_least"], filler["guaranteed_until"]) == ("active", 1800, None)
    assert (place["state"], place["leaves_at"], "resource_id" in place) == ("coming", None, False)
    one = f"{ALL}/{filler['id']}"
    Rounds(service).run()
    assert member.ask("GET", one).json["filler"]["hosts"][0]["state"] == "active"
    assert operator.ask("GET", one).json["filler"]["hosts"][0]["resource_id"] == host
    aggregate = service.cloud.aggregates.get(place["id"])
    assert aggregate is not None
    assert aggregate.metadata["leasehold:lease"] == filler["id"]
    assert member.ask("DELETE", one).status_code == 202
    ending = member.ask("GET", one).json["filler"]["hosts"][0]
    assert (ending["state"], ending["reason"]) == ("ending", "Its project has ended it.")
    Rounds(service).run()
    ended = member.ask("GET", one).json["filler"]
    assert (ended["state"], ended["hosts"][0]["state"]) == ("ended", "ended")
    assert member.ask("DELETE", one).json["filler"]["ended_at"] == ended["ended_at"]
    assert member.ask("GET", f"{ALL}?state=active").json == {"fillers": []}
    clock.now += timedelta(days=31)
    Rounds(service).run()
    assert member.ask("GET", one).status_code == 404


@pytest.mark.usefixtures("host")
def test_a_refusal_says_what_there_is_and_from_when_on(member: Client) -> None:
    refused = member.ask("POST", ALL, {**IDLE, "reservation": hosts(2)})
    assert refused.status_code == 409
    assert refused.json["details"]["largest"] == 1
    lease = {"name": "n", "start_date": "2031-05-01 10:00", "end_date": "2031-05-01 11:00", "reservations": [hosts()]}
    assert member.ask("POST", "/v1/leases", lease).status_code == 201
    refused = member.ask("POST", ALL, IDLE)
    assert refused.json["details"]["nearest"]["start"] == "2031-05-01T11:00:00+00:00"
    guaranteed = made(member, at_least=600)["hosts"][0]["guaranteed_until"]
    assert guaranteed == "2031-05-01T09:54:50+00:00"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reservation": instances()}, "reservation.resource_type"),
        ({"reservation": hosts(2, 1)}, "reservation.max"),
        ({"reservation": {**hosts(), "before_end": "erase"}}, "reservation.before_end"),
        ({"reservation": hosts(), "end_date": "2031-05-01 09:31"}, "end_date"),
        ({"reservation": hosts(), "at_least": 0}, "at_least"),
        (
            {"reservation": {**hosts(), "resource_properties": '["==", "$none", "1"]'}},
            "reservation.resource_properties",
        ),
    ],
)
@pytest.mark.usefixtures("host")
def test_bad_input_names_its_field(member: Client, body: dict[str, Any], field: str) -> None:
    refused = member.ask("POST", ALL, body)
    assert (refused.status_code, refused.json.get("field")) == (400, field), refused.text
    assert member.ask("GET", ALL).json == {"fillers": []}


@pytest.mark.usefixtures("host")
def test_it_counts_hosts_of_the_project(member: Client) -> None:
    refused = member.ask("POST", ALL, {**IDLE, "reservation": hosts(11)})
    assert (refused.status_code, refused.json["code"]) == (403, "leasehold.fillers.too_many")
    assert refused.json["details"]["limit"] == 10
