"""Four API processes on one database of each kind, with the hosts of all races."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests

from leasehold.cloud.sandbox import seed
from leasehold.db.engine import open_engine
from tests.databases import ON_EACH, Databases, database
from tests.harness.programs import Fleet, fleet
from tests.processes import prepare_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Options

PROCESSES = 4
HOSTS = {"last": 1, "mixed": 3, "slots": 2, "retry": 8, "busy": 3, "fifteen": 5, "series": 2}
"""The number of hosts of each test; a test selects its own hosts by the property `for`."""
VCPUS = 32
PATIENT: Options = {"enforcement": {"max_explanation_seconds": 60}}
"""A refusal names a window also on a machine that is busy with other tests."""


def build(url: str) -> None:
    """Create the database, and a cloud with the hosts of all tests."""
    prepare_database(url)
    names = [f"{group}-{number}" for group, count in HOSTS.items() for number in range(count)]
    engine = open_engine(url)
    specs = (seed.HostSpec(100 + n, name, name, VCPUS, 65536, 1000) for n, name in enumerate(names))
    seed.add_hosts(engine, specs)
    engine.dispose()


@pytest.fixture(scope="module", params=ON_EACH)
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, databases: Databases
) -> Iterator[Fleet]:
    """Yield a site on each database; the tests share it."""
    with database(databases, request.param, tmp_path_factory.mktemp("race")) as url:
        build(url)
        with fleet([url], apis=PROCESSES, options=PATIENT) as made:
            for group, count in HOSTS.items():
                for number in range(count):
                    body = {"name": f"{group}-{number}", "for": group}
                    answer = requests.post(f"{made.url(0)}/os-hosts", json=body, timeout=60)
                    assert answer.status_code == 201, answer.text
            yield made
