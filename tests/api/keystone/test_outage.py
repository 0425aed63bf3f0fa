"""Failures of Keystone, and the cache that limits the requests to it."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from falcon import testing

from leasehold.api.app import make_app
from tests.api.keystone.conftest import ask, authenticator, identify
from tests.servers import free_port

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from tests.api.keystone.conftest import Configured
    from tests.api.keystone.server import Keystone


@pytest.mark.parametrize("status", [500, 503])
def test_a_broken_keystone_is_503_and_not_401(web: testing.TestClient, keystone: Keystone, status: int) -> None:
    token = keystone.issue("t", "member", "reader")
    keystone.failing = status
    answer = ask(web, token)
    assert answer.status_code == 503
    assert answer.json["code"] == "leasehold.auth.unavailable"
    assert answer.headers["Retry-After"] == "5"
    assert "WWW-Authenticate" not in answer.headers
    keystone.failing = None
    assert ask(web, token).status_code == 200


def test_an_absent_keystone_is_503(service: Service, settings: ApiSettings, configured: Configured) -> None:
    absent = configured(auth_url=f"http://127.0.0.1:{free_port()}/v3")
    web = testing.TestClient(make_app(service, replace(settings, auth_strategy="keystone"), absent))
    assert ask(web, "t").status_code == 503
    assert ask(web, None).status_code == 401


def test_a_silent_keystone_is_503(service: Service, settings: ApiSettings, configured: Configured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v3"
        raw = configured("http_connect_timeout = 1", "http_request_max_retries = 0", auth_url=url)
        web = testing.TestClient(make_app(service, replace(settings, auth_strategy="keystone"), raw))
        assert ask(web, "t").status_code == 503


def test_a_service_that_keystone_does_not_know_is_503(web: testing.TestClient, keystone: Keystone) -> None:
    """The client's token may be valid; the service cannot validate it."""
    keystone.failing = 401
    assert ask(web, keystone.issue("t", "member")).status_code == 503


def test_many_threads_may_begin_at_once(configured: Configured, keystone: Keystone) -> None:
    """The middleware initialises itself safely when its first requests are concurrent."""
    authentication = authenticator(configured())
    tokens = [keystone.issue(f"t{number}", "member", project=f"p{number}") for number in range(16)]
    start = Barrier(len(tokens))

    def who(token: str) -> Caller:
        start.wait()
        return identify(authentication, X_Auth_Token=token)

    with ThreadPoolExecutor(len(tokens)) as threads:
        callers = list(threads.map(who, tokens))
    assert [(caller.user_id, caller.project_id) for caller in callers] == [
        (f"user-of-t{number}", f"p{number}") for number in range(16)
    ]


def test_keystone_is_asked_once_for_a_token(web: testing.TestClient, keystone: Keystone) -> None:
    token = keystone.issue("t", "member", "reader")
    assert [ask(web, token).status_code for _ in range(3)] == [200, 200, 200]
    assert keystone.asked == ["t"]
    keystone.failing = 503
    assert ask(web, token).status_code == 200


# After a refused connection, python-memcached leaves the socket to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("line", ["token_cache_time = -1", "memcached_servers = 127.0.0.1:{port}"])
def test_without_a_cache_it_is_asked_every_time(
    service: Service, settings: ApiSettings, configured: Configured, keystone: Keystone, line: str
) -> None:
    """The same holds while the only memcached is down."""
    raw = configured(line.format(port=free_port()))
    web = testing.TestClient(make_app(service, replace(settings, auth_strategy="keystone"), raw))
    token = keystone.issue("t", "member", "reader")
    assert [ask(web, token).status_code for _ in range(3)] == [200, 200, 200]
    assert keystone.asked == ["t", "t", "t"]
