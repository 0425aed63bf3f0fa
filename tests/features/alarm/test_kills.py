"""Managers that are killed while they check alarms: each crossing is told once, and none is left out."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import requests

from leasehold.cloud.sandbox import seed
from tests.factory import hosts
from tests.processes import prepare_database, running, wait_for

if TYPE_CHECKING:
    from tests.processes import Program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OPTIONS: dict[str, dict[str, object]] = {"manager": {"alarm_seconds": 0.1, "poll_seconds": 0.1}}
VERSION = {"OpenStack-API-Version": "reservation 1.2"}
HOSTS, ALARMS, ROUNDS, WITHIN = 4, 12, 4, 120


def ask(api: Program, method: str, path: str, body: Any = None) -> Any:
    answer = requests.request(method, f"{api.url}{path}", json=body, headers=VERSION, timeout=WITHIN)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def told(api: Program) -> dict[str, list[str]]:
    """Return the types of the events of each alarm, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for event in ask(api, "GET", "/events?limit=1000")["events"]:
        if event["type"].startswith("capacity."):
            found[event["payload"]["id"]].append(event["type"])
    return dict(found)


def states(api: Program) -> list[str]:
    return [each["state"] for each in ask(api, "GET", "/alarms")["alarms"]]


def test_managers_that_are_killed_while_they_check_tell_each_crossing_once(database_url: str) -> None:
    """A lease takes all hosts and gives them back, again and again, and each time a manager dies meanwhile."""
    prepare_database(database_url)
    with ExitStack() as stack:

        def manager() -> Program:
            return stack.enter_context(running("leasehold-manager", database_url=database_url, options=OPTIONS))

        api = stack.enter_context(running("leasehold-api", database_url=database_url, options=OPTIONS))
        for name, _ in seed.SUGGESTED_HOSTS[:HOSTS]:
            ask(api, "POST", "/os-hosts", {"name": name})
        managers = [manager(), manager()]
        for number in range(ALARMS):
            ask(api, "POST", "/alarms", {"reservation": hosts(), "below": 1 + number % HOSTS})
        wait_for(lambda: states(api) == ["ok"] * ALARMS, within=WITHIN)
        end = (datetime.now(UTC) + timedelta(hours=3)).replace(microsecond=0).isoformat()
        for number in range(ROUNDS):
            lease = {"name": "n", "start_date": "now", "end_date": end, "reservations": [hosts(HOSTS)]}
            made = ask(api, "POST", "/leases", lease)["lease"]["id"]
            if number % 2 == 0:
                managers.pop(0).kill()
                managers.append(manager())
            wait_for(lambda: states(api) == ["low"] * ALARMS, within=WITHIN)
            ask(api, "DELETE", f"/leases/{made}")
            if number % 2 == 1:
                managers.pop(0).kill()
                managers.append(manager())
            wait_for(lambda: states(api) == ["ok"] * ALARMS, within=WITHIN)
        crossings = ["capacity.low", "capacity.restored"] * ROUNDS
        wait_for(lambda: sum(map(len, told(api).values())) >= ALARMS * len(crossings), within=WITHIN)
        found = told(api)
    assert len(found) == ALARMS
    assert all(each == crossings for each in found.values()), found
