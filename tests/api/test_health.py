"""The health check always answers, also under many requests and with an unresponsive database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event

from leasehold.api.health import FRESH_SECONDS, STALE_SECONDS, HealthCheck
from leasehold.api.limits.admission_control import PUBLIC, AdmissionControl
from leasehold.cmd.web import make_app
from tests.clocks import Ticks
from tests.processes import wait_for
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

pytestmark = pytest.mark.slow

WITHIN = 60.0
ASKING = 24


class Database:
    """Counts the health check's queries on the service's database, and can block them."""

    def __init__(self, service: Service) -> None:
        self.asked = 0
        self.goes_on = Event()
        self.goes_on.set()
        event.listen(service.db.engine, "before_cursor_execute", self._begin)

    def _begin(self, *args: object) -> None:
        if str(args[2]).startswith("UPDATE secret_keys "):
            self.asked += 1
            self.goes_on.wait(WITHIN)


@pytest.fixture
def seconds() -> Ticks:
    return Ticks()


@pytest.fixture
def database(service: Service) -> Iterator[Database]:
    made = Database(service)
    yield made
    made.goes_on.set()


def test_it_needs_no_place_that_anybody_else_can_take(service: Service, settings: ApiSettings) -> None:
    admission = AdmissionControl(settings)
    web = LocalClient(make_app(service, settings, admission=admission))
    with ExitStack() as places:
        for _ in range(PUBLIC):
            places.enter_context(admission.admit(public=True))
        for _ in range(settings.threads):
            places.enter_context(admission.admit(public=False))
        assert web.simulate_get("/v1/openapi.json").status_code == 503
        assert web.simulate_get("/healthcheck").json == {"status": "ok"}
        admission.closing = True
        assert web.simulate_get("/healthcheck").json["status"] == "draining"


def test_the_database_is_asked_once_for_all(service: Service, database: Database, seconds: Ticks) -> None:
    health = HealthCheck(service.db, seconds)
    assert all(health.is_well() for _ in range(ASKING))
    assert database.asked == 1
    seconds.now += FRESH_SECONDS
    assert health.is_well()
    assert database.asked == 2


def test_a_database_that_hangs_is_waited_for_by_one_and_said_when_it_lasts(
    service: Service, database: Database, seconds: Ticks
) -> None:
    health = HealthCheck(service.db, seconds)
    assert health.is_well()
    database.goes_on.clear()
    seconds.now += FRESH_SECONDS
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(health.is_well)
        wait_for(lambda: database.asked == 2, within=WITHIN)
        # The other callers do not wait: they get the last result until it is stale.
        assert all(health.is_well() for _ in range(ASKING))
        seconds.now += STALE_SECONDS
        assert not any(health.is_well() for _ in range(ASKING))
        assert not first.result(WITHIN)
        assert database.asked == 2
        database.goes_on.set()
        wait_for(health.is_well, within=WITHIN)


def test_a_failure_is_no_older_than_the_interval(service: Service, seconds: Ticks) -> None:
    def break_(*_: object) -> None:
        raise OSError("away")

    health = HealthCheck(service.db, seconds)
    event.listen(service.db.engine, "before_cursor_execute", break_)
    assert not health.is_well()
    event.remove(service.db.engine, "before_cursor_execute", break_)
    assert not health.is_well()
    seconds.now += FRESH_SECONDS
    assert health.is_well()
