"""Load shedding: excess requests wait in a limited queue or get a 503 at once, and every request is answered."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
import requests

from tests.load.conftest import SIZE, WITHIN, Crowd, crowd, no_decisions, serving
from tests.processes import wait_for

pytestmark = pytest.mark.slow

WORKING, WAITING = 3, 5
ROOM = WORKING + WAITING
SMALL = {"threads": WORKING, "max_waiting": WAITING, "max_wait_seconds": WITHIN, "metrics": "true"}
OVERRUN = 150
MEMORY_ALLOWED = 16 * 1024
"""KiB that the allocator may retain between two rounds of the same requests."""


def resident(process: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1])


def threads(process: int) -> int:
    return len(list(Path(f"/proc/{process}/task").iterdir()))


def has_answered(clients: Crowd, count: int) -> bool:
    return len(clients.answered()) >= count


@pytest.mark.servers
def test_who_finds_no_room_is_sent_away_at_once_and_who_waits_is_served(url: str) -> None:
    with serving(url, **SMALL) as api, crowd(api) as clients:
        with no_decisions(url):
            clients.ask(SIZE)
            wait_for(lambda: len(clients.answered()) == SIZE - ROOM, within=WITHIN)
            for refusal in clients.answered():
                assert refusal.status_code == 503
                assert refusal.json()["code"] == "leasehold.overloaded"
                assert int(refusal.headers["Retry-After"]) > 0
                assert refusal.headers["x-openstack-request-id"].startswith("req-")
            # The health check needs no permit and is answered all the time.
            assert requests.get(f"{api.root}/healthcheck", timeout=WITHIN).json() == {"status": "ok"}
        assert clients.statuses() == [201] * ROOM + [503] * (SIZE - ROOM)
        page = requests.get(f"{api.root}/metrics", timeout=WITHIN).text
        assert f'leasehold_requests_shed_total{{reason="full"}} {SIZE - ROOM}.0' in page
        counted = f'leasehold_requests_total{{method="POST",route="/v1/leases",status="503"}} {SIZE - ROOM}.0'
        assert counted in page
        leases = requests.get(f"{api.url}/leases", timeout=WITHIN).json()["leases"]
        assert len(leases) == ROOM


def test_who_has_waited_too_long_is_not_worked_on_any_more(file_url: str) -> None:
    with serving(file_url, **{**SMALL, "max_wait_seconds": 0.2}) as api, crowd(api) as clients:
        with no_decisions(file_url):
            clients.ask(ROOM)
            wait_for(lambda: len(clients.answered()) == WAITING, within=WITHIN)
        assert clients.statuses() == [201] * WORKING + [503] * WAITING
        page = requests.get(f"{api.root}/metrics", timeout=WITHIN).text
        assert f'leasehold_requests_shed_total{{reason="late"}} {WAITING}.0' in page


def test_being_overrun_again_and_again_takes_no_more_memory(file_url: str) -> None:
    with serving(file_url, **SMALL) as api, crowd(api) as clients:
        seen = []
        for rounds in range(1, 4):
            with no_decisions(file_url):
                clients.ask(OVERRUN)
                wait_for(partial(has_answered, clients, rounds * OVERRUN - ROOM), within=WITHIN)
            clients.statuses()
            seen.append((resident(api.process.pid), threads(api.process.pid)))
        assert seen[-1][0] <= seen[0][0] + MEMORY_ALLOWED, seen
        assert seen[-1][1] == seen[0][1], seen
