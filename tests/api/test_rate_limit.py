"""Rate limits: requests of a project, and failed logins of an address."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import bcrypt
import pytest

from leasehold.api.limits import rate_limit
from leasehold.api.limits.rate_limit import Buckets, Logins
from leasehold.cmd.web import make_app
from leasehold.conf.settings import RateSettings
from leasehold.model.errors import ForbiddenError, IdentityUnavailableError, TooManyRequestsError, UnauthorizedError
from tests.api.conftest import Client
from tests.clocks import Ticks
from tests.processes import wait_for
from tests.users import basic, users_file
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

WITHIN = 60.0
CLIENTS = 16
HERE = "192.0.2.1"
FORGED = itertools.count()


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    """Return the clock of all limits."""
    ticks = Ticks()
    monkeypatch.setattr(rate_limit.RateLimit.__init__, "__defaults__", (ticks,))
    return ticks


@pytest.fixture
def limited(service: Service, settings: ApiSettings, seconds: Ticks) -> Client:
    """Return a member of `demo`, limited to three requests a minute."""
    assert seconds.now
    return Client(LocalClient(make_app(service, replace(settings, rates=RateSettings(requests=3)))))


@pytest.fixture
def guarded(service: Service, settings: ApiSettings, seconds: Ticks, tmp_path: Path) -> testing.TestClient:
    """Return an API with passwords that allows two failed logins per address and minute."""
    assert seconds.now
    path, rates = users_file(tmp_path, {"alice": "right:demo:reader"}), RateSettings(failures=2)
    return LocalClient(
        make_app(service, replace(settings, auth_strategy="http_basic", users_file=str(path), rates=rates))
    )


# ---------------------------------------------------------------- requests of a project


def test_the_fourth_request_of_a_minute_waits(limited: Client, seconds: Ticks) -> None:
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


def test_what_is_refused_changes_nothing_and_projects_count_for_themselves(limited: Client) -> None:
    body = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}
    asked = [limited.but(user=name).ask("POST", "/v1/leases", body).status_code for name in "abcde"]
    assert asked == [201, 201, 201, 429, 429]
    assert len(limited.but(project="ops", roles="admin").ask("GET", "/v1/leases").json["leases"]) == 3


def test_health_versions_and_the_document_are_free(limited: Client) -> None:
    paths = ("/healthcheck", "/", "/versions", "/v1/openapi.json")
    for _ in range(4):
        assert [limited.ask("GET", path).status_code for path in paths] == [200, 300, 300, 200]
    assert [limited.ask("GET", "/v1/leases").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [limited.ask("GET", path).status_code for path in paths] == [200, 300, 300, 200]


def test_there_is_no_limit_by_default(client: Client) -> None:
    assert {client.ask("GET", "/v1/leases").status_code for _ in range(50)} == {200}


# ---------------------------------------------------------------- failed logins


def ask(web: testing.TestClient, password: str | None, path: str = "/v1/leases", address: str = HERE) -> int:
    """Log in with a header that forges another address each time."""
    headers = {"X-Forwarded-For": f"198.51.100.{next(FORGED) % 256}"}
    if password is not None:
        headers["Authorization"] = basic("alice", password)
    return int(web.simulate_get(path, headers=headers, extras={"REMOTE_ADDR": address}).status_code)


def test_who_guesses_is_stopped_before_the_next_guess_is_looked_at(
    guarded: testing.TestClient, seconds: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {ask(guarded, "right") for _ in range(20)} == {200}
    assert [ask(guarded, guess) for guess in ("a", "b")] == [401, 401]
    with monkeypatch.context() as patch:
        patch.setattr(bcrypt, "checkpw", lambda *_: pytest.fail("a guess was looked at"))
        assert [ask(guarded, guess) for guess in ("c", "right")] == [429, 429]
    assert ask(guarded, "right", address="192.0.2.2") == 200
    seconds.now += 30
    assert [ask(guarded, guess) for guess in ("right", "right", "d", "right")] == [200, 200, 401, 429]


@pytest.mark.parametrize(
    ("addresses", "statuses"),
    [
        (("2001:db8::0", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"), [401, 401, 429, 401]),
        (("192.0.2.9", "::ffff:192.0.2.9", "192.0.2.9"), [401, 401, 429]),
    ],
)
def test_an_ipv6_network_is_one_address(
    guarded: testing.TestClient, addresses: tuple[str, ...], statuses: list[int]
) -> None:
    assert [ask(guarded, "a", address=each) for each in addresses] == statuses


def test_clients_that_begin_without_credentials_are_no_guesses(guarded: testing.TestClient) -> None:
    """Every client requests the versions without credentials first; wrong credentials count on every path."""
    assert {ask(guarded, None, "/") for _ in range(5)} == {401}
    assert [ask(guarded, "a", "/") for _ in range(3)] == [401, 401, 429]
    assert [ask(guarded, None, "/healthcheck"), ask(guarded, None, "/v1/openapi.json")] == [200, 200]


@pytest.mark.parametrize(
    ("password", "statuses", "checks"),
    [("a", [401] * 2 + [429] * (CLIENTS - 2), 2), ("right", [200] * CLIENTS, None)],
    ids=["guesses", "good logins"],
)
def test_many_logins_at_once_get_no_further_and_good_ones_are_not_refused(
    guarded: testing.TestClient,
    monkeypatch: pytest.MonkeyPatch,
    password: str,
    statuses: list[int],
    checks: int | None,
) -> None:
    """Clients at one address log in at the same moment; the checks of their passwords wait for each other."""
    looked_at: list[bytes] = []
    goes_on, barrier, check = threading.Event(), threading.Barrier(CLIENTS), bcrypt.checkpw

    def slow_check(given: bytes, expected: bytes) -> bool:
        looked_at.append(given)
        assert goes_on.wait(WITHIN)
        return check(given, expected)

    def log_in(_: int) -> int:
        barrier.wait(WITHIN)
        return ask(guarded, password)

    monkeypatch.setattr(bcrypt, "checkpw", slow_check)
    with ThreadPoolExecutor(CLIENTS) as threads:
        asked = [threads.submit(log_in, number) for number in range(CLIENTS)]
        wait_for(lambda: len(looked_at) >= 2, within=WITHIN)
        goes_on.set()
        assert sorted(each.result(WITHIN) for each in asked) == statuses
    assert checks in (None, len(looked_at))


@pytest.mark.parametrize("error", [IdentityUnavailableError("down"), ForbiddenError("no project"), RuntimeError("bug")])
def test_only_a_login_that_failed_counts(error: Exception) -> None:
    """An unavailable identity service, a forbidden request and a defect are not failed logins."""
    logins = Logins(Buckets(1, Ticks()))
    for _ in range(3):
        with pytest.raises(type(error)), logins.checking("a", UnauthorizedError):
            raise error
    with pytest.raises(UnauthorizedError), logins.checking("a", UnauthorizedError):
        raise UnauthorizedError("wrong")
    with pytest.raises(TooManyRequestsError), logins.checking("a", UnauthorizedError):
        pytest.fail("a guess was looked at")


# ---------------------------------------------------------------- buckets


def test_memory_is_bounded_and_whoever_was_seen_last_stays() -> None:
    buckets = Buckets(2, Ticks(), most=100)
    for number in range(10_000):
        buckets.take(f"passing-{number}")
        assert buckets.take("regular") == (0.0 if number < 2 else 30.0)
    assert len(buckets) == 100
    assert [buckets.take("passing-9999") for _ in range(2)] == [0.0, 30.0]


def test_a_bucket_is_never_fuller_than_full() -> None:
    seconds = Ticks()
    buckets = Buckets(60, seconds)
    buckets.take("p")
    seconds.now += 10_000
    assert [buckets.take("p") for _ in range(61)] == [0.0] * 60 + [1.0]
