"""Attacks other than bad input: request smuggling, forged log lines, and memory exhaustion."""

from __future__ import annotations

import gzip
import json
import random
import re
import tracemalloc
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
import requests

from leasehold.resource_types import conditions
from tests.processes import prepare_database, running, wait_for
from tests.security.programs import answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Program

pytestmark = pytest.mark.slow

WITHIN = 10
LEASE = {"name": "n", "start_date": "2040-01-01 10:00", "end_date": "2040-01-01 11:00"}
FORGED = "FORGED"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ [A-Z]+ [\w.]+ \[")
"""The beginning of every log line."""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    url = f"sqlite:///{tmp_path_factory.mktemp('attacks')}/leasehold.db"
    prepare_database(url)
    debug = {"DEFAULT": {"debug": True}, "api": {"metrics": True}}
    with (
        running("leasehold-api", database_url=url, options=debug) as api,
        running("leasehold-manager", database_url=url, options=debug) as manager,
    ):
        yield api
        for program in (api, manager):
            lines = program.log.read_text(errors="replace").splitlines()
            assert all(LINE.match(line) for line in lines if FORGED in line)


# ---------------------------------------------------------------- request smuggling

INNER = b"GET /v1/leases/inner HTTP/1.1\r\nHost: localhost\r\n\r\n"
BODY = b"0\r\n\r\n" + INNER
AMBIGUOUS = {
    "length, then chunks": b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(BODY),
    "chunks, then length": b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n" % len(BODY),
    "no known coding": b"Transfer-Encoding: xchunked\r\n",
    "two codings": b"Transfer-Encoding: identity, chunked\r\n",
    "chunks twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "a blank before the colon": b"Transfer-Encoding : chunked\r\nContent-Length: %d\r\n" % len(BODY),
    "a blank before the name": b"X-A: b\r\n Transfer-Encoding: chunked\r\nContent-Length: %d\r\n" % len(BODY),
    "an underscore": b"Transfer_Encoding: chunked\r\nContent-Length: %d\r\n" % len(BODY),
    "a vertical tab": b"Transfer-Encoding:\x0bchunked\r\nContent-Length: %d\r\n" % len(BODY),
    "two lengths": b"Content-Length: 5\r\nContent-Length: %d\r\n" % len(BODY),
    "two lengths in one": b"Content-Length: 5, %d\r\n" % len(BODY),
    "a length with a sign": b"Content-Length: +%d\r\n" % len(BODY),
    "a length in octal": b"Content-Length: 0x5\r\n",
    "a bare line feed": b"X-A: b\nTransfer-Encoding: chunked\r\nContent-Length: %d\r\n" % len(BODY),
    "a bare carriage return": b"X-A: b\rTransfer-Encoding: chunked\r\nContent-Length: %d\r\n" % len(BODY),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_of_an_ambiguous_request_no_second_one_is_made(api: Program, name: str) -> None:
    """Bytes that a proxy takes for a body must not be answered as a second request; the server refuses them.

    An answer to the inner request would be a 404.
    """
    head = b"POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    found = answers(api, head + AMBIGUOUS[name] + b"\r\n" + BODY)
    assert 404 not in found, found
    assert all(status >= 400 for status in found), found
    assert requests.get(f"{api.url}/leases", timeout=WITHIN).status_code == 200


def test_two_plain_requests_on_one_connection_are_two(api: Program) -> None:
    """Shows that the server does answer two requests on one connection; the test above relies on it."""
    body = (
        b"POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert answers(api, body + INNER) == [400, 404]


def test_many_requests_sent_without_waiting_for_answers_end_their_connection(api: Program) -> None:
    """Far fewer are answered than were sent, however the kernel splits them."""
    found = answers(api, b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
    assert set(found) == {200}
    assert 4 <= len(found) <= 8


# ---------------------------------------------------------------- headers and logs

EVIL = (
    f"a\n2040-01-01 00:00:00.000 1 INFO leasehold [-] {FORGED}",
    f"a\r\n{FORGED}",
    f"\x1b[2J\x1b[31m{FORGED}",
    f"\u2028{FORGED}\u2029\u0085",
    f"\u202e{FORGED}",
    f"%(asctime)s %s {{0}} {FORGED}",
)


@pytest.mark.parametrize("text", EVIL, ids=range(len(EVIL)))
def test_no_text_of_a_request_becomes_a_header_or_a_line_of_the_log(api: Program, text: str) -> None:
    """Covers names, paths, queries, keys and values, in granted and in refused requests."""
    word = quote(text, safe="")
    places = [
        ("POST", "/leases", {**LEASE, "name": text[:80]}),
        ("POST", "/leases", {**LEASE, "start_date": text}),
        ("POST", "/leases", {**LEASE, text: text, "events": [{"event_type": text[:60]}]}),
        ("POST", "/leases", {**LEASE, "reservations": [{"resource_type": text[:60]}]}),
        ("POST", "/os-hosts", {"name": text}),
        ("POST", "/floatingips", {"floating_network_id": text, "floating_ip_address": text}),
        ("GET", f"/leases/{word}", None),
        ("GET", f"/{word}", None),
        ("GET", f"/os-hosts/allocations?lease_id={word}", None),
        ("PATCH", f"/os-hosts/properties/{word}", {"private": True}),
    ]
    for method, path, body in places:
        answer = requests.request(method, f"{api.url}{path}", json=body, timeout=30)
        assert answer.status_code < 500, answer.text
        assert FORGED not in str(answer.headers)
        # JSON escapes control characters, so an answer is safe to show in a terminal.
        assert answer.text.isascii()
        assert "\x1b" not in answer.text
    # No name may have such characters, but the type of an event of the client's own may.
    asked = {**LEASE, "start_date": "now", "events": [{"event_type": text[:60]}]}
    now = requests.post(f"{api.url}/leases", json=asked, timeout=30)
    assert now.status_code == 201
    lease = f"{api.url}/leases/{now.json()['lease']['id']}"
    wait_for(lambda: requests.get(lease, timeout=30).json()["lease"]["status"] == "ACTIVE", within=60)
    assert requests.delete(lease, timeout=30).status_code == 204


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "identity, gzip"])
def test_nothing_is_unpacked(api: Program, coding: str) -> None:
    """A compressed body is refused without decompression."""
    bomb = gzip.compress(json.dumps({**LEASE, "name": "x" * 10_000_000}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    answer = requests.post(f"{api.url}/leases", data=bomb, headers=headers, timeout=30)
    assert answer.status_code == 400
    assert answer.json()["code"] == "leasehold.http.malformed"


# ---------------------------------------------------------------- memory


def test_expressions_that_are_remembered_take_little_memory() -> None:
    """Any caller may send expressions of the largest size, different ones each time, and fill the cache."""
    rng = random.Random(7)  # noqa: S311 - a test needs repeatable numbers

    def largest() -> str:
        comparisons = [["==", "$vcpus", f"{rng.randrange(10**9):09}{'x' * 20}"] for _ in range(250)]
        return json.dumps(["or", *comparisons], separators=(",", ":"))

    tracemalloc.start()
    try:
        for _ in range(10):
            conditions.condition_of({"hypervisor_properties": largest(), "resource_properties": largest()})
        each = tracemalloc.get_traced_memory()[0] / 10
    finally:
        tracemalloc.stop()
        conditions._condition.cache_clear()
    most = conditions._condition.cache_info().maxsize
    assert most is not None
    assert most * each < 64 * 2**20
