"""Requests that wait for the cloud: their time and their number are limited, and they release their permit."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.limits.admission_control import AdmissionControl
from leasehold.api.limits.cloud_waits import MESSAGE
from leasehold.cloud.sandbox.faults import Fault
from leasehold.cmd.web import make_app
from tests.api.conftest import Client
from tests.factory import flavors
from tests.processes import wait_for
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from falcon import testing

    from leasehold.cloud.sandbox.faults import Faults
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

pytestmark = pytest.mark.slow

WITHIN = 60.0
HOURS = ("2031-05-01 10:00", "2031-05-01 11:00")
SILENT_MS = 3600 * 1000


@dataclass
class SilentNova:
    """Requests for a flavor reservation, each in a thread, and a cloud that does not answer until `answers` is set."""

    threads: ThreadPoolExecutor
    answers: Event = field(default_factory=Event)
    calls: list[float] = field(default_factory=list)
    """The calls that wait for an answer now."""
    asked: list[Future[testing.Result]] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Block the call until `answers` is set."""
        self.calls.append(seconds)
        answered = self.answers.wait(WITHIN)
        self.calls.remove(seconds)
        assert answered

    def ask(self, client: Client, times: int) -> None:
        """Send `times` requests, and wait until each is answered or waits for the cloud."""
        self.asked += [self.threads.submit(create, client, flavors()) for _ in range(times)]
        wait_for(lambda: self.waiting + len(self.answered()) == len(self.asked), within=WITHIN)

    @property
    def waiting(self) -> int:
        return len(self.calls)

    def answered(self) -> list[testing.Result]:
        return [each.result() for each in self.asked if each.done()]

    def end(self) -> list[int]:
        """Let the cloud answer, and return the statuses of all requests in order."""
        self.answers.set()
        return sorted(each.result(WITHIN).status_code for each in self.asked)


def create(client: Client, *parts: dict[str, Any]) -> testing.Result:
    body = {"name": "l", "start_date": HOURS[0], "end_date": HOURS[1], "reservations": parts, "events": []}
    return client.ask("POST", "/v1/leases", body)


@pytest.fixture
def faults(service: Service, host: str) -> Faults:
    """Return the faults of a cloud with one enrolled host."""
    assert host
    found: Faults = service.cloud.faults  # type: ignore[attr-defined]  # The cloud is the sandbox.
    return found


@pytest.fixture
def nova(faults: Faults) -> Iterator[SilentNova]:
    with ThreadPoolExecutor(16) as threads:
        silent = SilentNova(threads)
        faults._sleep = silent.sleep
        faults.set(Fault("flavors.get", latency_ms=1))
        assert faults.take("nothing.at_all") is None  # Loads the faults for all threads.
        yield silent
        silent.answers.set()


@pytest.fixture
def four(settings: ApiSettings) -> ApiSettings:
    """Return settings with four permits and no queue for them."""
    return replace(settings, threads=4, waiting=0, wait_seconds=WITHIN, cloud_seconds=WITHIN, metrics=True)


def test_a_silent_cloud_is_answered_for_within_the_requests_time(
    service: Service, settings: ApiSettings, client: Client, faults: Faults
) -> None:
    """A request waits at most `[api] cloud_seconds`, however many calls it needs."""
    impatient = client.but(web=LocalClient(make_app(service, replace(settings, cloud_seconds=0.2))))
    parts = [flavors(flavor=name) for name in ("m1.small", "m1.medium", "m1.large")]
    faults.set(Fault("flavors.*", latency_ms=SILENT_MS))
    begin = time.monotonic()
    answer = create(impatient, *parts)
    assert time.monotonic() - begin < WITHIN
    assert answer.status_code == 503, answer.text
    assert answer.json["field"] == "reservations[0].flavor_id"
    faults.clear()
    # Use the default deadline: a busy machine may need more than 0.2 s for three calls.
    assert create(client, *parts).status_code == 201


def test_requests_that_wait_for_the_cloud_hold_no_place_of_others(
    service: Service, four: ApiSettings, nova: SilentNova
) -> None:
    loud = Client(LocalClient(make_app(service, four)), project="loud")
    quiet, third = loud.but(project="quiet"), loud.but(project="third")
    nova.ask(loud, 4)
    # A create that does not call the cloud is answered while others wait for the cloud.
    assert create(quiet).status_code == 201
    assert nova.waiting == 2
    for refusal in nova.answered():
        assert refusal.status_code == 503
        assert refusal.json["code"] == "leasehold.cloud.unavailable"
        assert refusal.json["field"] == "reservations[0].flavor_id"
        assert f"{MESSAGE}. Try again later." in refusal.json["error_message"]
        assert int(refusal.headers["Retry-After"]) > 0
    # Other projects get the other half. When that is used up too, creates that do not call the cloud still succeed.
    nova.ask(quiet, 3)
    assert nova.waiting == 4
    nova.ask(third, 1)
    assert nova.waiting == 4
    assert create(third).status_code == 201
    page = loud.ask("GET", "/metrics").text
    assert 'leasehold_requests_shed_total{reason="cloud"}' in page
    assert nova.end() == [201] * 4 + [503] * 4


def test_an_answer_of_the_cloud_brings_a_request_back_to_a_place(
    service: Service, four: ApiSettings, nova: SilentNova
) -> None:
    one = replace(four, threads=1, wait_seconds=0.01)
    admission = AdmissionControl(one)
    client = Client(LocalClient(make_app(service, one, admission=admission)))
    nova.ask(client, 1)
    with admission.admit(public=False):
        # The only permit is taken, so the lease cannot be decided.
        assert nova.end() == [503]
        assert nova.answered()[0].json["code"] == "leasehold.overloaded"
    # There is exactly one permit again.
    with admission.admit(public=False):
        assert create(client).status_code == 503
    assert client.ask("GET", "/v1/leases").json["leases"] == []
    nova.ask(client, 1)
    assert nova.end() == [201, 503]


def test_a_refusal_leaves_room_as_it_was(service: Service, four: ApiSettings, nova: SilentNova) -> None:
    client = Client(LocalClient(make_app(service, four)))
    nova.ask(client, 8)
    assert nova.end() == [201] * 2 + [503] * 6
    assert create(client, flavors()).status_code == 201
