"""A browser for each worker, and for each module a service on its sandbox that is as it was before each test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from tests.console.browser import CHROMIUM, DRIVER, Browser, is_installed, running_browser
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
    if not is_installed():
        pytest.skip(f"{CHROMIUM} and {DRIVER} are not installed: tools/bootstrap test")
    with running_browser() as browser:
        yield browser


@pytest.fixture
def browser(one_browser: Browser, service: Program) -> Iterator[Browser]:
    """Yield the browser without a session. After the test nothing may be in its log that the test did not want.

    It leaves the page before the service deletes what the page shows.
    """
    assert service
    one_browser.forget()
    yield one_browser
    logged = one_browser.logged()
    one_browser.driver.get("about:blank")
    assert logged == []


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
