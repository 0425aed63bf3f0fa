"""Deletes that wait until their lease is gone: the limit of waiting requests, and their shared query."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event, update

from leasehold.api.limits.delete_waits import DeleteWaits, most_waiting
from leasehold.cmd.web import make_app
from leasehold.db.tables import leases
from leasehold.model.states import LeaseStatus
from tests.processes import wait_for
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

WITHIN = 60.0
LEASE = {"name": "l", "start_date": "2031-05-01 10:00", "end_date": "2031-05-01 12:00", "reservations": []}


@pytest.fixture
def patient(settings: ApiSettings) -> ApiSettings:
    """Return settings with which four deletes may wait, two of each project."""
    return replace(settings, threads=16, delete_wait_seconds=WITHIN)


@pytest.fixture
def lease(client: Client, service: Service) -> str:
    """Return a lease whose deletion does not finish by itself."""
    made = client.ask("POST", "/v1/leases", LEASE).json["lease"]["id"]
    with service.db.engine.begin() as connection:
        connection.execute(update(leases).values(status=LeaseStatus.DELETING))
    return str(made)


def finish(service: Service) -> None:
    with service.db.engine.begin() as connection:
        connection.execute(update(leases).values(deleted_at=service.now()))


class Crowd:
    """Deletes of one lease, each in a thread that waits."""

    def __init__(self, service: Service, lease: str, settings: ApiSettings) -> None:
        self.waits = DeleteWaits(settings)
        self._service = service
        self._lease = lease
        self._threads = ThreadPoolExecutor(16)
        self._asked: list[Future[None]] = []

    def ask(self, project: str, times: int) -> None:
        wait = self.waits.wait
        self._asked += [self._threads.submit(wait, self._service, self._lease, project) for _ in range(times)]

    def done(self) -> int:
        return sum(each.done() for each in self._asked)

    def end(self) -> None:
        finish(self._service)
        for each in self._asked:
            each.result(WITHIN)
        self._threads.shutdown()


@pytest.fixture
def crowd(service: Service, lease: str, patient: ApiSettings) -> Iterator[Crowd]:
    made = Crowd(service, lease, patient)
    yield made
    made.end()


def test_a_project_waits_in_half_of_the_places_and_the_rest_are_answered_at_once(
    crowd: Crowd, patient: ApiSettings
) -> None:
    assert most_waiting(patient) == 4
    crowd.ask("loud", 5)
    wait_for(lambda: crowd.done() == 3, within=WITHIN)
    assert len(crowd.waits) == 2
    crowd.ask("quiet", 3)
    wait_for(lambda: crowd.done() == 4, within=WITHIN)
    assert len(crowd.waits) == 4
    # All four wait slots are taken: a third project's delete is answered at once.
    crowd.ask("third", 1)
    wait_for(lambda: crowd.done() == 5, within=WITHIN)
    crowd.end()
    assert len(crowd.waits) == 0


def test_deletes_of_one_lease_share_one_look(service: Service, crowd: Crowd) -> None:
    lookers: set[int] = set()
    event.listen(service.db.engine, "before_cursor_execute", lambda *_: lookers.add(threading.get_ident()))
    crowd.ask("a", 2)
    crowd.ask("b", 2)
    wait_for(lambda: len(crowd.waits) == 4, within=WITHIN)
    crowd.end()
    assert len(lookers - {threading.get_ident()}) == 1


def test_a_server_with_one_thread_does_not_wait(
    client: Client, service: Service, patient: ApiSettings, lease: str
) -> None:
    """The deletion never finishes, so an answer proves that the request did not wait."""
    web = LocalClient(make_app(service, patient))
    answer = client.but(web=web).ask("DELETE", f"/v1/leases/{lease}", extras={"wsgi.multithread": False})
    assert answer.status_code == 204
    assert client.ask("GET", f"/v1/leases/{lease}").json["lease"]["status"] == "DELETING"


def test_deleting_again_decides_nothing(service: Service, client: Client, lease: str) -> None:
    """A repeated DELETE only reads; it takes no lock that could delay a decision of another project."""
    said: list[str] = []
    event.listen(service.db.engine, "before_cursor_execute", lambda *args: said.append(args[2]))
    assert client.ask("DELETE", f"/v1/leases/{lease}").status_code == 204
    assert said
    assert all(each == "BEGIN" or each.startswith("SELECT") for each in said)
