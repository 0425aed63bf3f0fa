"""Contract clients §2: what the dashboard sends and reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.v1.world import HOST, INSTANCE, moment

if TYPE_CHECKING:
    from tests.v1.world import World


@pytest.mark.parametrize("second", [0, 30, 59])
def test_clients_2_blank_start_is_the_current_minute_as_a_literal(cloud_world: World, second: int) -> None:
    """A start equal to the current minute is accepted, although its seconds have passed."""
    cloud_world.set_second(second)
    lease = cloud_world.lease(start_date=cloud_world.date(), end_date=cloud_world.date(hours=24))
    assert moment(lease["start_date"]) == cloud_world.now.replace(second=0)


def test_clients_2_host_form(cloud_world: World) -> None:
    """The form sends integers, possibly blank property expressions, and no before_end."""
    cloud_world.enrol("cmp-01")
    (reservation,) = cloud_world.lease(HOST)["reservations"]
    assert (reservation["min"], reservation["max"], reservation["before_end"]) == (1, 1, "default")


@pytest.mark.parametrize(
    ("sent", "meant"), [("True", True), ("False", False), ("None", None), ("", None), (None, None), (False, False)]
)
def test_clients_2_affinity_as_the_form_sends_it(cloud_world: World, sent: Any, meant: Any) -> None:
    """The form sends the words True and False, and the word None or a blank for no value."""
    cloud_world.enrol("cmp-01")
    (reservation,) = cloud_world.lease({**INSTANCE, "affinity": sent})["reservations"]
    assert reservation["affinity"] is meant


@pytest.mark.slow
def test_http_api_6_cpu_info_is_json_text(full: World) -> None:
    """`cpu_info` is a string that the dashboard can decode as JSON, for every host, also after an update."""
    for host in full.get("/os-hosts")["hosts"]:
        full.ask("PUT", f"/os-hosts/{host['id']}", {"colour": "red"})
        shown = full.get(f"/os-hosts/{host['id']}")["host"]["cpu_info"]
        assert isinstance(json.loads(shown), dict)


def test_clients_2_calendar_joins_allocations_with_hosts(full: World) -> None:
    """The calendar joins on `resource_id` equal to the host's `id`: both strings, every host listed."""
    hosts = {host["id"]: host for host in full.get("/os-hosts")["hosts"]}
    lease = full.lease({**HOST, "max": 2})
    allocations = full.get("/os-hosts/allocations")["allocations"]
    assert {each["resource_id"] for each in allocations} == hosts.keys()
    assert all(isinstance(each["resource_id"], str) for each in allocations)
    promises = [promise for each in allocations for promise in each["reservations"]]
    assert len(promises) == 2
    for promise in promises:
        assert promise.keys() == {"id", "lease_id", "start_date", "end_date"}
        assert promise["lease_id"] == lease["id"]
        assert moment(promise["start_date"]) <= full.now
        assert moment(promise["end_date"]) > full.now


def test_clients_2_update_form(full: World) -> None:
    """Prolonging and deferring arrive as new dates; reservations arrive as JSON with their ids."""
    lease = full.lease(HOST, start_date=full.date(hours=1), end_date=full.date(hours=2))
    change = {
        "name": "renamed",
        "start_date": full.date(hours=2),
        "end_date": full.date(hours=4),
        "reservations": [{"id": lease["reservations"][0]["id"], "max": 3}],
    }
    answer = full.ask("PUT", f"/leases/{lease['id']}", change)
    assert answer.status_code == 200, answer.text
    shown = full.show(lease)
    assert (shown["name"], shown["reservations"][0]["max"]) == ("renamed", 3)
    assert shown["end_date"] > lease["end_date"]
