"""Managers that are killed while they deliver: nothing is lost or out of order, and what comes twice is the same.

The oracle is the event log, which the test reads itself.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.processes import prepare_database, running, wait_for
from tests.receiver import receiving

if TYPE_CHECKING:
    from tests.processes import Program
    from tests.receiver import Receiver

pytestmark = pytest.mark.slow

OPTIONS: dict[str, dict[str, object]] = {
    # A claim lasts three times as long as an answer and a second, so that the next manager need not wait long.
    "delivery": {"http": True, "allowed_networks": "127.0.0.0/8", "answer_seconds": 0.5, "retry_first_seconds": 0.05},
}
VERSION = {"OpenStack-API-Version": "reservation 1.2"}
KILLS = 4
EVENTS_BETWEEN = 7
WITHIN = 60


def ask(api: Program, method: str, path: str, body: Any = None) -> Any:
    answer = requests.request(method, f"{api.url}{path}", json=body, headers=VERSION, timeout=WITHIN)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def make_events(api: Program, round_: int) -> None:
    """Make events of two leases, in turns."""
    dates = {"start_date": "2040-05-02 10:00", "end_date": "2040-05-02 11:00", "reservations": []}
    leases = [ask(api, "POST", "/leases", {"name": "n", **dates})["lease"]["id"] for _ in range(2)]
    for number in range(EVENTS_BETWEEN):
        ask(api, "PUT", f"/leases/{leases[number % 2]}", {"name": f"name-{round_}-{number}"})


def first_arrivals(receiver: Receiver) -> list[dict[str, Any]]:
    """Return the events in the order in which each arrived first; one that came again has to be the same."""
    found: dict[str, dict[str, Any]] = {}
    for event in receiver.events:
        assert found.setdefault(event["id"], event) == event
    return list(found.values())


def test_managers_that_are_killed_while_they_deliver_lose_nothing(database_url: str) -> None:
    prepare_database(database_url)
    with ExitStack() as stack:
        receiver = stack.enter_context(receiving())
        api = stack.enter_context(running("leasehold-api", database_url=database_url, options=OPTIONS))
        receiver.secret = ask(api, "POST", "/subscriptions", {"target": receiver.url})["subscription"]["secret"]
        managers: list[Program] = []
        # Every third request fails, and some are the last that their manager makes: it gets no answer, or a good one.
        deaths = iter(range(KILLS))
        taken = [0]

        def answer(_event: dict[str, Any]) -> int:
            taken[0] += 1
            if taken[0] % 11 == 5 and next(deaths, None) is not None:
                managers[-1].kill()
            return 500 if taken[0] % 3 == 0 else 200

        receiver.answer = answer
        for number in range(KILLS + 1):
            managers.append(
                stack.enter_context(running("leasehold-manager", database_url=database_url, options=OPTIONS))
            )
            make_events(api, number)
            if number < KILLS:
                wait_for(lambda: managers[-1].process.poll() is not None, within=WITHIN)
        log = (KILLS + 1) * (EVENTS_BETWEEN + 2)
        wait_for(lambda: len(first_arrivals(receiver)) == log, within=WITHIN)
        wanted = ask(api, "GET", "/events?limit=1000")["events"]
        arrived = first_arrivals(receiver)
        assert [(each["id"], each["type"]) for each in arrived] == [(each["id"], each["type"]) for each in wanted]
        assert [each["data"] for each in arrived] == [each["payload"] for each in wanted]
        assert len(receiver.tries) > len(arrived)
