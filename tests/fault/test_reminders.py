"""Managers that are killed while they remind: each lease is told of once, and none is left out."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.processes import prepare_database, running, wait_for

if TYPE_CHECKING:
    from tests.processes import Program

pytestmark = pytest.mark.slow

OPTIONS: dict[str, dict[str, object]] = {"manager": {"warn_before_end": "1h", "warn_poll_seconds": 0.1}}
VERSION = {"OpenStack-API-Version": "reservation 1.2"}
LEASES = 24
KILLS = 3
WITHIN = 60


def ask(api: Program, method: str, path: str, body: Any = None) -> Any:
    answer = requests.request(method, f"{api.url}{path}", json=body, headers=VERSION, timeout=WITHIN)
    assert answer.ok, answer.text
    return answer.json()


def events(api: Program, kind: str) -> list[dict[str, Any]]:
    found = ask(api, "GET", "/events?limit=1000")["events"]
    return [each for each in found if each["type"] == kind]


def test_managers_that_are_killed_while_they_remind_tell_each_lease_once(database_url: str) -> None:
    """The leases are made for three hours and then cut to half an hour, by which the rung of one hour is due."""
    prepare_database(database_url)
    now = datetime.now(UTC).replace(microsecond=0)
    dates = {"start_date": "now", "end_date": (now + timedelta(hours=3)).isoformat(), "reservations": []}
    with ExitStack() as stack:

        def manager() -> Program:
            return stack.enter_context(running("leasehold-manager", database_url=database_url, options=OPTIONS))

        api = stack.enter_context(running("leasehold-api", database_url=database_url, options=OPTIONS))
        managers = [manager(), manager()]
        ids = [ask(api, "POST", "/leases", {"name": "n", **dates})["lease"]["id"] for _ in range(LEASES)]
        wait_for(lambda: len(events(api, "lease.event.start_lease")) == LEASES, within=WITHIN)
        assert events(api, "lease.ends_soon") == []
        sooner = (now + timedelta(minutes=30)).isoformat()
        for number, lease_id in enumerate(ids):
            ask(api, "PUT", f"/leases/{lease_id}", {"end_date": sooner})
            if number % (LEASES // KILLS) == 4:
                managers.pop(0).kill()
                managers.append(manager())
        wait_for(lambda: len(events(api, "lease.ends_soon")) >= LEASES, within=WITHIN)
        told = events(api, "lease.ends_soon")
    assert Counter(each["lease_id"] for each in told) == Counter(ids)
    assert {each["payload"]["before_end_seconds"] for each in told} == {3600}
