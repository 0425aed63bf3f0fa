"""Sleeping hosts by the API and by `leasehold-manage`: for operators, from 1.3 on."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features.power.command import add_command
from leasehold.features.power.options import PowerSettings
from leasehold.features.power.rounds import Rounds
from leasehold.manager.monitor import check_once
from tests.factory import hosts
from tests.features.power.night import USUAL

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

pytestmark = pytest.mark.slow

ALL = "/v1/power/hosts"
MACHINE = {"power_class": "box", "address": "cmp-01"}


@pytest.fixture
def service(service: Service) -> Service:
    return replace(service, settings=service.settings.having(USUAL))


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.3")


@pytest.fixture
def machine(operator: Client, host: str) -> str:
    """Say how the machine of a host is switched, and return the path of it."""
    path = f"{ALL}/{host}"
    answer = operator.ask("PUT", path, MACHINE)
    assert answer.status_code == 200, answer.text
    return path


def let_pass(service: Service, clock: Clock, minutes: int) -> None:
    rounds = Rounds(service)
    for _ in range(minutes):
        rounds.run()
        clock.now += timedelta(minutes=1)
        check_once(service)


def test_a_machine_is_described_and_forgotten(operator: Client, host: str, machine: str) -> None:
    found = operator.ask("GET", machine).json["machine"]
    assert found == {
        "host_id": host,
        "resource_type": "physical:host",
        "hypervisor_hostname": "cmp-01",
        **MACHINE,
        "kept_on": False,
        "stage": "on",
        "since": None,
        "ready_at": None,
        "next_start": None,
        "failure": None,
        "failed_at": None,
    }
    assert operator.ask("GET", ALL).json == {"machines": [found]}
    assert operator.ask("PUT", machine, {**MACHINE, "kept_on": True}).json["machine"]["kept_on"] is True
    assert operator.ask("DELETE", machine).status_code == 204
    for method in ("GET", "DELETE"):
        assert operator.ask(method, machine).status_code == 404
    assert operator.ask("GET", ALL).json == {"machines": []}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**MACHINE, "power_class": "none"}, "power_class"),
        ({"power_class": "box"}, None),
        ({**MACHINE, "address": ""}, "address"),
        ({**MACHINE, "address": "--all"}, "address"),
        ({**MACHINE, "address": "a\nb"}, "address"),
        ({**MACHINE, "kept_on": "yes"}, "kept_on"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(
    operator: Client, host: str, body: dict[str, Any], field: str | None
) -> None:
    answer = operator.ask("PUT", f"{ALL}/{host}", body)
    assert answer.status_code == 400, answer.text
    assert field is None or answer.json["field"] == field
    assert operator.ask("GET", ALL).json == {"machines": []}


def test_two_hosts_have_two_machines(operator: Client, machine: str) -> None:
    assert machine
    other = operator.ask("POST", "/v1/os-hosts", {"name": "cmp-02"}).json["host"]["id"]
    answer = operator.ask("PUT", f"{ALL}/{other}", MACHINE)
    assert (answer.status_code, answer.json["field"]) == (409, "address")


def test_an_unknown_host_has_no_machine(operator: Client) -> None:
    for method, path in (("PUT", f"{ALL}/77"), ("GET", f"{ALL}/77"), ("POST", f"{ALL}/77/wake")):
        assert operator.ask(method, path, MACHINE if method == "PUT" else None).status_code == 404


def test_it_sleeps_and_is_woken_and_all_of_it_is_told(
    operator: Client, client: Client, service: Service, clock: Clock, machine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    let_pass(service, clock, 30)
    asleep = operator.ask("GET", machine).json["machine"]
    ready = clock.now + USUAL.wake_default + USUAL.every
    assert (asleep["stage"], asleep["ready_at"]) == ("asleep", ready.isoformat())
    hosts = operator.ask("GET", "/v1/resources/physical:host?health=asleep").json["resources"]
    assert [each["health"] for each in hosts] == ["asleep"]
    shown = operator.ask("GET", "/v1/timeline?from=2031-05-01T09:00Z&to=2031-05-02T09:00Z").json["timeline"]
    assert [shown["states"][state] for state in shown["rows"]["state"]] == ["asleep"]
    moved = operator.ask("PUT", machine, {**MACHINE, "address": "cmp-09"})
    assert (moved.status_code, moved.json["field"]) == (409, "address")
    clock.now += timedelta(hours=2)
    assert operator.ask("POST", f"{machine}/wake").json["machine"]["stage"] == "waking"
    let_pass(service, clock, 5)
    assert operator.ask("GET", machine).json["machine"]["stage"] == "on"
    report = operator.ask("GET", "/v1/power/report?to=2031-05-02T00:00Z").json["report"]
    assert len(report) == 1
    hours = report[0].pop("hours_off")
    assert 2 < hours < 2.5
    assert report[0].pop("kwh") == pytest.approx(hours * 0.1)
    ours = {"day": "2031-05-01", "power_class": "box", "zone": "zone-a"}
    went = {"wakes": 1, "failed_wakes": 0, "called_off": 0, "late_starts": 0}
    assert report == [{**ours, **went, "delayed_requests": 0, "delay_seconds": 0}]
    assert operator.ask("GET", "/v1/power/margins").json == {"margins": [{"power_class": "box", "wake_seconds": 610}]}
    for words, said in (
        (["hosts"], "cmp-01 (box): on"),
        (["margins"], "box: 610 seconds"),
        (["report"], "2031-05-01 box in zone-a: 2."),
        (["report", "--days", "1"], "1 wakes; 0 failed, 0 called off, 0 late starts"),
    ):
        run(service, words)
        assert said in capsys.readouterr().out
    assert client.but(version="1.3").ask("GET", ALL).status_code == 403


WANTED = {"name": "l", "start_date": "now", "duration_seconds": 3600, "reservations": [hosts()]}


def test_what_sleeping_hosts_delay_is_counted_once_and_said(
    operator: Client, client: Client, service: Service, clock: Clock, machine: str
) -> None:
    member = client.but(version="1.3")
    let_pass(service, clock, 30)
    assert operator.ask("GET", machine).json["machine"]["stage"] == "asleep"
    also: tuple[dict[str, Any], ...] = ({}, {"dry_run": True}, {"ready_within_seconds": 60})
    refused = [member.ask("POST", "/v1/leases", WANTED | more) for more in also]
    assert [each.status_code for each in refused] == [409] * 3
    assert all("What would do is ready in 1" in each.json["error_message"] for each in refused)
    within = refused[0].json["details"]["ready_within_seconds"]
    never = member.ask("POST", "/v1/leases", WANTED | {"reservations": [hosts(2)]})
    assert (never.status_code, "ready_within_seconds" in never.json["details"]) == (409, False)
    granted = member.ask("POST", "/v1/leases", WANTED | {"ready_within_seconds": within})
    assert granted.status_code == 201, granted.text
    begins = datetime.fromisoformat(granted.json["lease"]["start_date"]).replace(tzinfo=UTC)
    later = (begins - clock.now).total_seconds()
    assert USUAL.wake_default.total_seconds() <= later <= within
    (row,) = operator.ask("GET", "/v1/power/report?to=2031-05-02T00:00Z").json["report"]
    # Two refusals and the grant; what no host would have granted, and what was only tried, is none.
    assert (row["delayed_requests"], row["delay_seconds"]) == (3, 3 * later)
    (row,) = operator.ask("GET", "/v1/power/report?to=2031-05-02T00:00Z").json["report"]
    assert row["delayed_requests"] == 3


def test_whoever_asks_what_is_free_counts_a_host_from_when_it_is_ready(
    operator: Client, client: Client, service: Service, clock: Clock, machine: str
) -> None:
    member = client.but(version="1.3")
    let_pass(service, clock, 30)
    ready = datetime.fromisoformat(operator.ask("GET", machine).json["machine"]["ready_at"])
    until = (clock.now + timedelta(hours=4)).isoformat().replace("+00:00", "Z")
    seen = member.ask("GET", f"/v1/availability?to={until}").json["availability"]
    free = dict(zip(map(datetime.fromisoformat, seen["steps"]["from"]), seen["steps"]["free"], strict=True))
    assert (seen["total"], free) == (1, {min(free): 0, ready: 1})
    wish = {"reservations": [hosts()], "duration_seconds": 3600, "start_date": "now", "limit": 1}
    (window,) = member.ask("POST", "/v1/availability/search", wish).json["windows"]
    assert ready <= datetime.fromisoformat(window["start_date"]).replace(tzinfo=UTC) < ready + timedelta(minutes=1)
    seen = operator.ask("GET", f"/v1/forecast?to={until}").json["forecast"]["steps"]
    # It is there, and nobody was promised anything of it.
    assert (set(seen["capacity"]), set(seen["promised"]), set(seen["shortfall"])) == ({1}, {0}, {0})


@pytest.mark.parametrize("within", [0, -60, "15min", 1.5, True, 86_401])
def test_a_wrong_length_of_time_is_named(client: Client, host: str, within: object) -> None:
    answer = client.but(version="1.3").ask("POST", "/v1/leases", WANTED | {"ready_within_seconds": within})
    assert (answer.status_code, answer.json["field"]) == (400, "ready_within_seconds"), answer.text


def test_older_clients_do_not_have_it(client: Client, host: str) -> None:
    answer = client.but(version="1.2").ask("POST", "/v1/leases", WANTED | {"ready_within_seconds": 60})
    assert answer.json["code"] == "leasehold.input.unknown"


def test_a_report_is_bounded(operator: Client) -> None:
    for query in ("?from=2031-05-02T00:00Z", "?from=2029-01-01T00:00Z"):
        answer = operator.ask("GET", f"/v1/power/report{query}")
        assert (answer.status_code, answer.json["field"]) == (400, "to")
    assert operator.ask("GET", "/v1/power/report").json == {"report": []}


def test_without_classes_nothing_is_switched(admin: Client, host: str, service: Service) -> None:
    assert service.settings.having(PowerSettings()).of(PowerSettings).classes == ()
    assert admin.but(version="1.3").ask("PUT", f"{ALL}/{host}", {**MACHINE, "power_class": "x"}).status_code == 400


def test_the_commands_say_when_there_is_nothing(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = replace(service, settings=service.settings.having(PowerSettings()))
    for words, said in (
        (["hosts"], "No machine can be switched"),
        (["margins"], "No class of machines is configured"),
        (["report", "--days", "2"], "No host has slept in the last 2 days."),
    ):
        run(nothing, words)
        assert said in capsys.readouterr().out


def run(service: Service, words: list[str]) -> None:
    """Run `leasehold-manage power` with these words."""
    parser = ArgumentParser()
    add_command(parser.add_subparsers(), lambda _args, _engine: service)
    args = parser.parse_args(["power", *words])
    assert args.run(args, service.db.engine) == 0
