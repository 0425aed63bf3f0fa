"""Failures of Keystone, and the cache that limits the requests to it."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from leasehold.api.auth.token_cache import TokenCache
from tests.api.keystone.conftest import ask, authenticator, identify
from tests.clocks import Ticks
from tests.servers import free_port

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.model.caller import Caller
    from tests.api.keystone.conftest import Configured, Served
    from tests.api.keystone.server import Keystone

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("status", [500, 503, 401])
def test_a_broken_keystone_is_503_and_not_401(web: testing.TestClient, keystone: Keystone, status: int) -> None:
    """With 401 Keystone refuses the service itself: the client's token may be valid."""
    token = keystone.issue("t", "member", "reader")
    keystone.failing = status
    answer = ask(web, token)
    assert answer.status_code == 503
    assert answer.json["code"] == "leasehold.auth.unavailable"
    assert answer.headers["Retry-After"] == "5"
    assert "WWW-Authenticate" not in answer.headers
    keystone.failing = None
    assert ask(web, token).status_code == 200


def test_an_absent_or_silent_keystone_is_503(serve: Served) -> None:
    absent = serve(auth_url=f"http://127.0.0.1:{free_port()}/v3")
    assert [ask(absent, token).status_code for token in ("t", None)] == [503, 401]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v3"
        web = serve("http_connect_timeout = 1", "http_request_max_retries = 0", auth_url=url)
        assert ask(web, "t").status_code == 503


def test_many_threads_may_begin_at_once(configured: Configured, keystone: Keystone) -> None:
    """The middleware initialises itself safely when its first requests are concurrent."""
    authentication = authenticator(configured())
    tokens = [keystone.issue(f"t{number}", "member", project=f"p{number}") for number in range(16)]
    start = Barrier(len(tokens))

    def who(token: str) -> Caller:
        start.wait()
        return identify(authentication, X_Auth_Token=token)

    with ThreadPoolExecutor(len(tokens)) as threads:
        found = [(caller.user_id, caller.project_id) for caller in threads.map(who, tokens)]
    assert found == [(f"user-of-t{number}", f"p{number}") for number in range(16)]


# After a refused connection, python-memcached leaves the socket to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("lines", "times"), [([], 1), (["token_cache_time = -1"], 3), (["memcached_servers = 127.0.0.1:{port}"], 3)]
)
def test_keystone_is_asked_once_for_a_token_or_without_a_cache_every_time(
    serve: Served, keystone: Keystone, lines: list[str], times: int
) -> None:
    """The only memcached being down is like having no cache."""
    web = serve(*(line.format(port=free_port()) for line in lines))
    token = keystone.issue("t", "member", "reader")
    assert [ask(web, token).status_code for _ in range(3)] == [200, 200, 200]
    assert keystone.asked == ["t"] * times
    keystone.failing = 503
    assert ask(web, token).status_code == (200 if times == 1 else 503)


# ---------------------------------------------------------------- the cache


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ([("a", b"one", 5, 4.9)], {"a": b"one"}),
        ([("a", b"one", 5, 5.0)], {"a": None}),
        ([("a", b"one", 0, 0.0)], {"a": None}),
        ([("a", b"one", -1, 0.0)], {"a": None}),
        # The last value counts.
        ([("a", b"12345", 5, 0.0), ("a", b"67890", 5, 0.0), ("b", b"12345", 5, 0.0)], {"a": b"67890", "b": b"12345"}),
        # The oldest goes when the cache is full; expired entries make room; what is too large is not kept.
        ([(name, b"1234", 5, 0.0) for name in "abc"], {"a": None, "b": b"1234", "c": b"1234"}),
        (
            [("a", b"12345", 5, 3.0), ("b", b"12345", 5, 3.0), ("c", b"12345", 5, 0.0)],
            {"a": None, "b": b"12345", "c": b"12345"},
        ),
        ([("a", b"12345", 5, 0.0), ("b", b"x" * 11, 5, 0.0)], {"a": b"12345", "b": None}),
        ([("a", b"x" * 10, 5, 0.0)], {"a": b"x" * 10}),
    ],
)
def test_every_entry_of_the_cache_expires_and_its_size_is_limited(
    kept: list[tuple[str, bytes, int, float]], found: dict[str, bytes | None]
) -> None:
    """Each entry is kept for its time in a cache of 10 bytes, and then some seconds pass."""
    clock = Ticks()
    cache = TokenCache(most_bytes=10, now=clock)
    for name, value, time, passes in kept:
        assert cache.set(name, value, time=time) == (time > 0 and len(value) <= 10)
        clock.now += passes
    assert {name: cache.get(name) for name in found} == found
