"""The load balancer's health check while unauthenticated clients attack the API."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests

from tests.load.conftest import WITHIN, serving

if TYPE_CHECKING:
    from tests.processes import Program

pytestmark = pytest.mark.slow

STRANGERS = 24
CHECKS = 100
OPTIONS = {"threads": 2, "max_waiting": 2, "metrics": "true"}


def checks(api: Program) -> list[int]:
    """Return the statuses that a load balancer gets; it opens a connection for each check."""
    return [requests.get(f"{api.root}/healthcheck", timeout=WITHIN).status_code for _ in range(CHECKS)]


def test_strangers_who_ask_all_the_time_do_not_make_it_fail(file_url: str) -> None:
    with serving(file_url, **OPTIONS) as api, ThreadPoolExecutor(STRANGERS) as strangers:
        asking = True

        def ask() -> set[int]:
            seen = set()
            with requests.Session() as session:
                while asking:
                    for path in ("/healthcheck", "/v1/openapi.json"):
                        seen.add(session.get(f"{api.root}{path}", timeout=WITHIN).status_code)
            return seen

        asked = [strangers.submit(ask) for _ in range(STRANGERS)]
        try:
            assert set(checks(api)) == {200}
        finally:
            asking = False
        assert set().union(*(each.result(WITHIN) for each in asked)) <= {200, 503}


BEGINNINGS = (
    b"",
    b"GET /healthch",
    b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    b"POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{",
    # The connection stays open after the answer.
    b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n",
    # The client reads none of the answers.
    b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500,
)


def test_strangers_who_are_slow_do_not_make_it_fail(file_url: str) -> None:
    with serving(file_url, **OPTIONS) as api, ExitStack() as stack:
        place = urlsplit(api.url)
        for beginning in BEGINNINGS:
            for _ in range(STRANGERS):
                connection = socket.create_connection((place.hostname or "", place.port or 0), timeout=WITHIN)
                stack.enter_context(connection)
                connection.sendall(beginning)
        assert set(checks(api)) == {200}
