"""Input that no HTTP client sends, written to the socket of a real server."""

from __future__ import annotations

import errno
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests

from tests.processes import prepare_database, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Program

pytestmark = pytest.mark.slow

WITHIN = 10
CLOSED = {errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}
JSON = b"Host: localhost\r\nContent-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n\r\n"


@dataclass(frozen=True)
class Answer:
    """The first answer on a connection; the status is 0 if the connection was closed without one."""

    status: int
    body: bytes


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    url = f"sqlite:///{tmp_path_factory.mktemp('sockets')}/leasehold.db"
    prepare_database(url)
    with running("leasehold-api", database_url=url) as started:
        yield started


def exchange(program: Program, content: bytes) -> Answer:
    """Send only these bytes, and read until the server closes the connection."""
    place = urlsplit(program.url)
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port or 80), timeout=WITHIN) as connection:
        received = b""
        # A server that refuses early closes at once, which resets the connection while bytes are still in flight.
        try:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            while chunk := connection.recv(65536):
                received += chunk
        except OSError as error:
            if error.errno not in CLOSED:
                raise
    head, _, body = received.partition(b"\r\n\r\n")
    return Answer(int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/") else 0, body)


def serves(program: Program) -> bool:
    """Return whether the service answers and has no lease."""
    return bool(requests.get(f"{program.url}/leases", timeout=WITHIN).json() == {"leases": []})


RAW: dict[str, bytes] = {
    "no HTTP": b"nonsense\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64,
    "NUL": b"\x00" * 64 + b"\r\n\r\n",
    "a length that is none": b"POST /v1/leases HTTP/1.1\r\n" + JSON + b"Content-Length: abc\r\n" + CLOSE + b"{}",
    "a negative length": b"POST /v1/leases HTTP/1.1\r\n" + JSON + b"Content-Length: -1\r\n" + CLOSE + b"{}",
    "two lengths": b"POST /v1/leases HTTP/1.1\r\n"
    + JSON
    + b"Content-Length: 2\r\nContent-Length: 3\r\n"
    + CLOSE
    + b"{}",
    "length and chunks": b"POST /v1/leases HTTP/1.1\r\n"
    + JSON
    + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"
    + CLOSE
    + b"2\r\n{}\r\n0\r\n\r\n",
    "an unknown coding": b"POST /v1/leases HTTP/1.1\r\n" + JSON + b"Transfer-Encoding: gzip\r\n" + CLOSE + b"{}",
    "chunks that are none": b"POST /v1/leases HTTP/1.1\r\n"
    + JSON
    + b"Transfer-Encoding: chunked\r\n"
    + CLOSE
    + b"zz\r\n{}\r\n0\r\n\r\n",
    "a length beyond every limit": b"POST /v1/leases HTTP/1.1\r\n"
    + JSON
    + b"Content-Length: 1000000000000\r\n"
    + CLOSE,
    "a header without a name": b"GET /v1/leases HTTP/1.1\r\n: x\r\n" + CLOSE,
    "a header without a colon": b"GET /v1/leases HTTP/1.1\r\nnonsense\r\n" + CLOSE,
    "a header of 300 kB": b"GET /v1/leases HTTP/1.1\r\nX-Long: " + b"x" * 300_000 + b"\r\n" + CLOSE,
    "a line feed in a header": b"GET /v1/leases HTTP/1.1\r\nX-A: a\nX-B: b\r\n" + CLOSE,
    "not UTF-8 in a path": b"GET /v1/leases/\xff\xfe HTTP/1.1\r\n" + CLOSE,
    "a path of 300 kB": b"GET /" + b"x" * 300_000 + b" HTTP/1.1\r\n" + CLOSE,
}
UNDERSTOOD: dict[str, bytes] = {
    "not UTF-8 in a header": b"GET /v1/leases HTTP/1.1\r\nX-Project-Id: \xff\xfe\r\n" + CLOSE,
    "NUL in a path": b"GET /v1/leases/%00 HTTP/1.1\r\n" + CLOSE,
    "dots in a path": b"GET /v1/leases/../../../etc/passwd HTTP/1.1\r\n" + CLOSE,
    "encoded dots in a path": b"GET /v1/leases/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + CLOSE,
    "no body": b"POST /v1/leases HTTP/1.1\r\n" + JSON + CLOSE,
    "a method of its own": b"NONSENSE /v1/leases HTTP/1.1\r\n" + CLOSE,
    "CONNECT": b"CONNECT /v1/leases HTTP/1.1\r\n" + CLOSE,
    "TRACE": b"TRACE /v1/leases HTTP/1.1\r\n" + CLOSE,
    "chunks that are too many": b"POST /v1/leases HTTP/1.1\r\n"
    + JSON
    + b"Transfer-Encoding: chunked\r\n"
    + CLOSE
    + b"10000\r\n%s\r\n" % (b"x" * 65536) * 20
    + b"0\r\n\r\n",
    "a deep body": b"POST /v1/leases HTTP/1.1\r\n" + JSON + b"Content-Length: 200000\r\n" + CLOSE + b"[" * 200_000,
    "not UTF-8 in a body": b"POST /v1/leases HTTP/1.1\r\n" + JSON + b"Content-Length: 4\r\n" + CLOSE + b"\xff\xfe{}",
    "a bad content type": b"POST /v1/leases HTTP/1.1\r\nContent-Type: \xff\r\nContent-Length: 2\r\n" + CLOSE + b"{}",
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_http(program: Program, name: str) -> None:
    """The server closes the connection, without an answer or with a 4xx or 501, and still serves other clients."""
    answer = exchange(program, RAW[name])
    assert answer.status == 0 or 400 <= answer.status < 500 or answer.status == 501, answer
    assert b"Traceback" not in answer.body
    assert serves(program)


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_what_http_allows_and_nobody_sends(program: Program, name: str) -> None:
    """The API itself answers with a 4xx in JSON and a message."""
    answer = exchange(program, UNDERSTOOD[name])
    assert 400 <= answer.status < 500, answer
    assert json.loads(answer.body)["error_message"]
    assert serves(program)


def test_requests_that_break_off(program: Program) -> None:
    """Clients that disconnect within a request occupy no thread, even if they far outnumber the threads."""
    half = b"POST /v1/leases HTTP/1.1\r\n" + JSON + b"Content-Length: 1000\r\n\r\n" + b'{"name": '
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: exchange(program, half), range(64)))
    assert all(answer.status == 0 or answer.status >= 400 for answer in answers)
    assert serves(program)


def test_requests_that_never_end(program: Program) -> None:
    """Clients that send half a request and wait occupy no thread that serves other clients."""
    place = urlsplit(program.url)
    assert place.hostname is not None
    address = (place.hostname, place.port or 80)
    waiting = [socket.create_connection(address, timeout=WITHIN) for _ in range(50)]
    try:
        for connection in waiting:
            connection.sendall(b"POST /v1/leases HTTP/1.1\r\n" + JSON + b"Content-Length: 1000\r\n\r\n{")
        assert serves(program)
    finally:
        for connection in waiting:
            connection.close()
    assert serves(program)
