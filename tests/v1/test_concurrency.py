"""The rows of contract clients §1.3 that need real processes: concurrent requests."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import requests

from tests.processes import prepare_database, running, wait_for
from tests.v1.world import HOST, V1

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.processes import Program

pytestmark = pytest.mark.slow

AT_ONCE = 10
WITHIN = 30


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    with running("leasehold-standalone") as started:
        yield started


def host_lease(url: str, name: str) -> requests.Response:
    end = (datetime.now(UTC) + timedelta(hours=1)).strftime(V1)
    body = {"name": name, "start_date": "now", "end_date": end, "reservations": [HOST]}
    return requests.post(f"{url}/leases", json=body, timeout=WITHIN)


def test_clients_1_3_concurrent_list_lease(program: Program) -> None:
    """Ten parallel GET /leases are all 200 while a listed lease starts."""
    ident = host_lease(program.url, "listed").json()["lease"]["id"]

    def listed(_number: int) -> requests.Response:
        return requests.get(f"{program.url}/leases", timeout=WITHIN)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(listed, range(AT_ONCE)))
    assert [answer.status_code for answer in answers] == [200] * AT_ONCE
    assert all(ident in {each["id"] for each in answer.json()["leases"]} for answer in answers)


def test_clients_1_3_a_lease_from_now_starts_and_ends_in_time(program: Program) -> None:
    """With a running manager and the real clock, a lease is ACTIVE well within 40 s and gone soon after its delete."""
    lease = host_lease(program.url, "timed").json()["lease"]
    path = f"{program.url}/leases/{lease['id']}"
    wait_for(lambda: requests.get(path, timeout=WITHIN).json()["lease"]["status"] == "ACTIVE", within=10)
    assert requests.delete(path, timeout=WITHIN).status_code == 204
    assert requests.get(path, timeout=WITHIN).status_code == 404


def test_clients_1_3_api_and_manager_may_be_processes_of_their_own(tmp_path: Path) -> None:
    """The same with separate `leasehold-api` and `leasehold-manager` processes and ten concurrent lease requests."""
    url = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(url)
    with running("leasehold-api", database_url=url) as api, running("leasehold-manager", database_url=url):
        for name in ("cmp-01", "cmp-02", "cmp-06"):
            answer = requests.post(f"{api.url}/os-hosts", json={"name": name}, timeout=WITHIN)
            assert answer.status_code == 201, answer.text
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(lambda number: host_lease(api.url, str(number)), range(AT_ONCE)))
        assert sorted(answer.status_code for answer in answers) == [201] * 3 + [409] * 7

        def statuses() -> list[str]:
            leases = requests.get(f"{api.url}/leases", timeout=WITHIN).json()["leases"]
            return [lease["status"] for lease in leases]

        wait_for(lambda: statuses() == ["ACTIVE"] * 3, within=15)
        allocations = requests.get(f"{api.url}/os-hosts/allocations", timeout=WITHIN).json()["allocations"]
        assert [len(each["reservations"]) for each in allocations] == [1, 1, 1], json.dumps(allocations)
