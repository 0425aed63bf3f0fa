"""Feature A17: `in_line` in the answer about a lease that waits, from 1.3 on, and in no other answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.features.fair_share.options import FairShareSettings
from tests.api.test_leases import HOST, made
from tests.db.examples import statements
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

KEYS = {"position", "ahead", "reason", "expected_at", "unknown", "assumes", "as_of"}


@pytest.fixture
def new(client: Client) -> Client:
    return client.but(version="1.3")


def shown(client: Client, lease: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = client.ask("GET", f"/v1/leases/{lease['id']}").json["lease"]
    return found


def waiting(client: Client) -> dict[str, Any]:
    return made(client, reservations=[HOST], type="waitlist", deadline="2031-05-02 10:00")


@pytest.fixture
def full(new: Client, host: str) -> dict[str, Any]:
    """Lease the only host for the time that the others wait for, and return the lease."""
    assert host
    return made(new, reservations=[HOST])


def test_a_lease_that_waits_shows_where_it_stands(new: Client, clock: Clock, full: dict[str, Any]) -> None:
    first = waiting(new)
    clock.now += timedelta(seconds=1)
    second = waiting(new.but(user="bob", project="alt"))
    assert all("in_line" not in each for each in (full, first, shown(new, full), shown(new.but(version="1.2"), first)))
    mine, theirs = (
        shown(client, each)["in_line"] for client, each in ((new, first), (new.but(user="bob", project="alt"), second))
    )
    assert mine.keys() == KEYS
    assert (mine["position"], mine["ahead"], theirs["position"], theirs["ahead"]) == (1, 0, 2, 1)
    assert mine["expected_at"] == "2031-05-01T12:00:00+00:00", "the host is free when the first lease ends"
    assert theirs["expected_at"] == "2031-05-01T14:00:00+00:00"
    assert (mine["unknown"], "as early as it can" in mine["assumes"]) == (None, True)
    assert mine["reason"].startswith("Who has waited longest comes first")


def test_a_member_learns_a_number_of_others_and_no_more(new: Client, clock: Clock, full: dict[str, Any]) -> None:
    """Nothing in it names who is ahead, what they ask for or what they have used."""
    others = waiting(new.but(user="bob-of-alt", project="alternative"))
    clock.now += timedelta(seconds=1)
    mine = shown(new, waiting(new))["in_line"]
    assert mine["ahead"] == 1
    hidden = ("alternative", "bob-of-alt", others["id"], others["reservations"][0]["id"], full["id"])
    assert not any(each in repr(mine) for each in hidden)


def test_a_list_and_a_change_do_not_show_it(new: Client, full: dict[str, Any]) -> None:
    lease = waiting(new)
    assert full
    listed = new.ask("GET", "/v1/leases").json["leases"]
    changed = new.ask("PUT", f"/v1/leases/{lease['id']}", {"name": "n"}).json["lease"]
    assert not any("in_line" in each for each in (*listed, changed))


def test_it_may_be_switched_off(service: Service, settings: ApiSettings, new: Client, full: dict[str, Any]) -> None:
    lease = waiting(new)
    off = replace(service, settings=service.settings.having(FairShareSettings(place_seconds=0.0)))
    without = replace(new, web=LocalClient(make_app(off, settings)))
    assert "in_line" in shown(new, lease)
    assert "in_line" not in shown(without, lease)
    assert full


def test_a_lease_that_does_not_wait_costs_no_statement_more(
    service: Service, settings: ApiSettings, new: Client, full: dict[str, Any]
) -> None:
    waiting(new)
    off = replace(service, settings=service.settings.having(FairShareSettings(place_seconds=0.0)))
    without = replace(new, web=LocalClient(make_app(off, settings)))
    counts = []
    for client in (without, new):
        with statements(service.db.engine) as asked:
            shown(client, full)
        counts.append(len(asked))
    assert counts[0] == counts[1]
