"""Repeated DELETE requests for leases with a slow deletion do not delay other requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import requests

from tests.load.conftest import SIZE, VERSION, WITHIN, crowd, serving, wanted
from tests.processes import running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Program

pytestmark = pytest.mark.slow

THREADS = 8
ROUNDS = 3
WAITS = THREADS // 4
"""The number of deletes that may wait in one process; one project may use half of it."""
OPTIONS = {"threads": THREADS, "max_waiting": 0, "delete_wait_seconds": WITHIN, "metrics": "true"}
REPEATER, BYSTANDER = {"X-Project-Id": "repeater"}, {"X-Project-Id": "bystander"}


@contextmanager
def stuck(url: str) -> Iterator[tuple[Program, list[str]]]:
    """Run an API with two active leases and no manager, so that their deletion does not finish."""
    with serving(url, **OPTIONS) as api:
        with running("leasehold-manager", database_url=url):
            leases = [granted(api, number) for number in range(2)]
            wait_for(lambda: all(status(api, lease) == "ACTIVE" for lease in leases), within=WITHIN)
        yield api, leases


def granted(api: Program, number: int) -> str:
    """Create a lease that starts now, and return its id."""
    body = wanted(number) | {"start_date": "now"}
    answer = requests.post(f"{api.url}/leases", json=body, headers=VERSION, timeout=WITHIN)
    return str(answer.json()["lease"]["id"])


def status(api: Program, lease: str) -> str | None:
    answer = requests.get(f"{api.url}/leases/{lease}", headers=VERSION, timeout=WITHIN)
    return answer.json()["lease"]["status"] if answer.ok else None


def sent_away(api: Program) -> list[str]:
    page = requests.get(f"{api.root}/metrics", timeout=WITHIN).text.splitlines()
    return [line for line in page if line.startswith("leasehold_requests_shed_total")]


def test_a_deletion_that_takes_its_time_holds_no_place_of_another_request(file_url: str) -> None:
    with stuck(file_url) as (api, leases), crowd(api, SIZE + 1) as deletes, ThreadPoolExecutor(THREADS) as threads:
        # More requests than threads: at most half of the wait slots are used, all others are answered at once.
        for _ in range(ROUNDS):
            deletes.delete(leases[0], SIZE // ROUNDS, **REPEATER)
            wait_for(lambda: deletes.waiting() <= WAITS // 2, within=WITHIN)
        assert {answer.status_code for answer in deletes.answered()} == {204}
        assert status(api, leases[0]) == "DELETING"
        # Meanwhile other requests are admitted: THREADS - 1 at a time, none of them shed.
        answers = [threads.submit(status, api, leases[1]) for _ in range(THREADS - 1)]
        assert [each.result(WITHIN) for each in answers] == ["ACTIVE"] * (THREADS - 1)
        # Another project's delete still gets a wait slot.
        deletes.delete(leases[1], 1, **BYSTANDER)
        wait_for(lambda: status(api, leases[1]) == "DELETING", within=WITHIN)
        assert deletes.waiting() == WAITS // 2 + 1
        assert sent_away(api) == []
        with running("leasehold-manager", database_url=file_url):
            assert deletes.statuses() == [204] * (SIZE + 1)
        assert [status(api, lease) for lease in leases] == [None, None]
