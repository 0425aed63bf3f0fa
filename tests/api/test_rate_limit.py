"""Rate limits: requests of a project, and failed logins of an address."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import bcrypt
import pytest

from leasehold.api import rate_limit
from leasehold.api.app import make_app
from leasehold.api.rate_limit import Buckets, Logins
from leasehold.conf.settings import RateSettings
from leasehold.model.errors import (
    ForbiddenError,
    IdentityUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
)
from tests.api.conftest import Client
from tests.api.test_auth import basic
from tests.processes import wait_for
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service


WITHIN = 60.0


class Seconds:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def limited(service: Service, settings: ApiSettings, monkeypatch: pytest.MonkeyPatch, seconds: Seconds) -> Client:
    """Return a member of `demo`, limited to three requests a minute."""
    monkeypatch.setattr(rate_limit.RateLimit.__init__, "__defaults__", (seconds,))
    return Client(LocalClient(make_app(service, replace(settings, rates=RateSettings(requests=3)))))


@pytest.fixture
def guarded(
    service: Service, settings: ApiSettings, monkeypatch: pytest.MonkeyPatch, seconds: Seconds, tmp_path: Path
) -> testing.TestClient:
    """Return an API with passwords that allows two failed logins per address and minute."""
    monkeypatch.setattr(rate_limit.RateLimit.__init__, "__defaults__", (seconds,))
    path = tmp_path / "users"
    path.write_text(f"alice:{bcrypt.hashpw(b'right', bcrypt.gensalt(4)).decode()}:demo:reader\n", encoding="utf-8")
    rates = RateSettings(failures=2)
    wanted = replace(settings, auth_strategy="http_basic", users_file=str(path), rates=rates)
    return LocalClient(make_app(service, wanted))


# ---------------------------------------------------------------- requests of a project


def test_the_fourth_request_of_a_minute_waits(limited: Client, seconds: Seconds) -> None:
    assert [limited.ask("GET", "/v1/leases").status_code for _ in range(4)] == [200, 200, 200, 429]
    answer = limited.ask("GET", "/v1/leases")
    assert answer.headers["Retry-After"] == "20"
    assert answer.json["code"] == "leasehold.http.rate"
    assert answer.json["details"] == {"retry_after": 20, "limit_per_minute": 3}
    assert answer.json["error_message"].endswith("3 a minute are answered. Try again in 20 seconds.")
    assert answer.headers["x-openstack-request-id"].startswith("req-")
    seconds.now += 19.9
    assert limited.ask("GET", "/v1/leases").headers["Retry-After"] == "1"
    seconds.now += 0.1
    assert [limited.ask("GET", "/v1/leases").status_code for _ in range(2)] == [200, 429]


def test_projects_count_for_themselves_and_their_users_together(limited: Client) -> None:
    assert [limited.but(user=name).ask("GET", "/v1/leases").status_code for name in "abcd"] == [200, 200, 200, 429]
    assert limited.but(project="other").ask("GET", "/v1/leases").status_code == 200


def test_what_is_refused_changes_nothing(limited: Client, service: Service) -> None:
    body = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}
    assert [limited.ask("POST", "/v1/leases", body).status_code for _ in range(5)] == [201, 201, 201, 429, 429]
    assert len(limited.but(project="ops", roles="admin").ask("GET", "/v1/leases").json["leases"]) == 3


def test_health_versions_and_the_document_are_free(limited: Client) -> None:
    paths = ("/healthcheck", "/", "/versions", "/v1/openapi.json")
    for _ in range(3):
        assert [limited.ask("GET", path).status_code for path in paths] == [200, 300, 300, 200]
    assert limited.ask("GET", "/v1/leases").status_code == 200
    for _ in range(3):
        limited.ask("GET", "/v1/leases")
    assert [limited.ask("GET", path).status_code for path in paths] == [200, 300, 300, 200]


def test_there_is_no_limit_by_default(client: Client) -> None:
    assert {client.ask("GET", "/v1/leases").status_code for _ in range(50)} == {200}


# ---------------------------------------------------------------- failed logins


def ask(web: testing.TestClient, password: str | None, path: str = "/v1/leases", address: str = "192.0.2.1") -> int:
    headers = {} if password is None else {"Authorization": basic("alice", password)}
    answer = web.simulate_get(path, headers=headers, extras={"REMOTE_ADDR": address})
    return int(answer.status_code)


def test_who_guesses_is_stopped_before_the_next_guess_is_looked_at(
    guarded: testing.TestClient, seconds: Seconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [ask(guarded, guess) for guess in ("a", "b")] == [401, 401]
    with monkeypatch.context() as patch:
        patch.setattr(bcrypt, "checkpw", lambda *_: pytest.fail("a guess was looked at"))
        assert [ask(guarded, guess) for guess in ("c", "right")] == [429, 429]
    assert ask(guarded, "right", address="192.0.2.2") == 200
    seconds.now += 30
    assert [ask(guarded, guess) for guess in ("right", "right", "d", "right")] == [200, 200, 401, 429]


def test_success_costs_nothing(guarded: testing.TestClient) -> None:
    assert {ask(guarded, "right") for _ in range(20)} == {200}


def test_an_ipv6_network_is_one_address(guarded: testing.TestClient) -> None:
    assert [ask(guarded, "a", address=f"2001:db8::{n}") for n in range(3)] == [401, 401, 429]
    assert ask(guarded, "a", address="2001:db8:0:1::1") == 401
    assert [ask(guarded, "a", address=each) for each in ("192.0.2.9", "::ffff:192.0.2.9", "192.0.2.9")] == [
        401,
        401,
        429,
    ]


def test_clients_that_begin_without_credentials_are_no_guesses(guarded: testing.TestClient) -> None:
    """Every client requests the versions without credentials first; wrong credentials count on every path."""
    assert {ask(guarded, None, "/") for _ in range(5)} == {401}
    assert [ask(guarded, "a", "/") for _ in range(3)] == [401, 401, 429]
    assert [ask(guarded, None, "/healthcheck"), ask(guarded, None, "/v1/openapi.json")] == [200, 200]


def test_a_forged_address_helps_nobody(guarded: testing.TestClient) -> None:
    statuses = []
    for number in range(3):
        headers = {"Authorization": basic("alice", "a"), "X-Forwarded-For": f"198.51.100.{number}"}
        answer = guarded.simulate_get("/v1/leases", headers=headers, extras={"REMOTE_ADDR": "192.0.2.1"})
        statuses.append(answer.status_code)
    assert statuses == [401, 401, 429]


CLIENTS = 16


class SlowCheck:
    """Replaces `bcrypt.checkpw`: counts the checks, and blocks them until the test sets `goes_on`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looked_at = 0
        self.goes_on = threading.Event()
        self._check = bcrypt.checkpw
        self._lock = threading.Lock()
        monkeypatch.setattr(bcrypt, "checkpw", self)

    def __call__(self, password: bytes, expected: bytes) -> bool:
        with self._lock:
            self.looked_at += 1
        assert self.goes_on.wait(WITHIN)
        return self._check(password, expected)


def at_once(guarded: testing.TestClient, password: str, check: SlowCheck) -> list[int]:
    """Return the statuses of clients at one address that log in at the same moment."""
    barrier = threading.Barrier(CLIENTS)

    def log_in(_: int) -> int:
        barrier.wait(WITHIN)
        return ask(guarded, password)

    with ThreadPoolExecutor(CLIENTS) as threads:
        asked = [threads.submit(log_in, number) for number in range(CLIENTS)]
        wait_for(lambda: check.looked_at >= 2, within=WITHIN)
        check.goes_on.set()
        return sorted(each.result(WITHIN) for each in asked)


def test_who_guesses_many_times_at_once_gets_no_further(
    guarded: testing.TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = SlowCheck(monkeypatch)
    assert at_once(guarded, "a", check) == [401] * 2 + [429] * (CLIENTS - 2)
    assert check.looked_at == 2


def test_good_logins_at_once_are_not_refused(guarded: testing.TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert at_once(guarded, "right", SlowCheck(monkeypatch)) == [200] * CLIENTS


@pytest.mark.parametrize("error", [IdentityUnavailableError("down"), ForbiddenError("no project"), RuntimeError("bug")])
def test_only_a_login_that_failed_counts(seconds: Seconds, error: Exception) -> None:
    """An unavailable identity service, a forbidden request and a defect are not failed logins."""
    logins = Logins(Buckets(1, seconds))
    for _ in range(3):
        with pytest.raises(type(error)), logins.checking("a"):
            raise error
    with pytest.raises(UnauthorizedError), logins.checking("a"):
        raise UnauthorizedError("wrong")
    with pytest.raises(TooManyRequestsError), logins.checking("a"):
        pytest.fail("a guess was looked at")


# ---------------------------------------------------------------- buckets


def test_memory_is_bounded_and_whoever_was_seen_last_stays(seconds: Seconds) -> None:
    buckets = Buckets(2, seconds, most=100)
    for number in range(10_000):
        buckets.take(f"passing-{number}")
        if number < 2:
            assert buckets.take("regular") == 0.0
        else:
            assert buckets.take("regular") == 30.0
    assert len(buckets) == 100


def test_a_bucket_is_never_fuller_than_full(seconds: Seconds) -> None:
    buckets = Buckets(60, seconds)
    buckets.take("p")
    seconds.now += 10_000
    assert [buckets.take("p") for _ in range(61)] == [0.0] * 60 + [1.0]
