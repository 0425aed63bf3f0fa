"""A browser for each worker, and for each module a service on its sandbox that is as it was before each test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from tests.console.browser import Browser, running_browser, watched
from tests.processes import Program, running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
ADMIN = {"OpenStack-API-Version": "reservation 1.3"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use a browser: they take longer than others."""
    for item in items:
        if _HERE in item.path.parents and "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def one_browser() -> Iterator[Browser]:
    """Yield the browser of this worker."""
    with running_browser() as browser:
        yield browser


@pytest.fixture
def browser(one_browser: Browser, service: Program) -> Iterator[Browser]:
    """Yield the browser without a session, at the service, whose leases it does not outlive."""
    assert service
    with watched(one_browser):
        yield one_browser


@pytest.fixture(scope="module")
def one_service() -> Iterator[Program]:
    """Yield a service of its own for this module, with the hosts of the sandbox."""
    with running("leasehold-standalone") as service:
        yield service


@pytest.fixture
def service(one_service: Program) -> Iterator[Program]:
    """Yield the service; after the test its leases are deleted, so that no test sees those of another."""
    yield one_service
    leases = _leases(one_service)
    for lease in leases:
        requests.delete(f"{one_service.url}/leases/{lease}", headers=ADMIN, timeout=30).raise_for_status()
    wait_for(lambda: not _leases(one_service))


def _leases(service: Program) -> list[str]:
    answer = requests.get(f"{service.url}/leases", headers=ADMIN, timeout=30)
    answer.raise_for_status()
    return [lease["id"] for lease in answer.json()["leases"]]
