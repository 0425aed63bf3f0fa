"""Bodies of callers not yet identified use limited memory and do not delay other callers."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests
from waitress.adjustments import Adjustments

from leasehold.cmd.intake import Intake
from leasehold.cmd.strict import StrictParser
from leasehold.conf.settings import ApiSettings
from leasehold.features.console.paths import LONGEST_BODY
from tests.processes import wait_for
from tests.security.programs import WITHIN, api_with_passwords, connect
from tests.users import basic

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from tests.processes import Program

LIMIT = 1000
SETTINGS = ApiSettings(auth_strategy="keystone", max_body=LIMIT)
TOKEN = b"X-Auth-Token: anything\r\n"


def parser(intake: Intake, content: bytes) -> StrictParser:
    """Return the parser of a request after it has received these bytes."""
    made = StrictParser(Adjustments(), intake)
    while content and not made.completed:
        content = content[made.received(content) :]
    return made


def post(length: int, headers: bytes = TOKEN) -> bytes:
    return b"POST /v1/leases HTTP/1.1\r\nHost: h\r\n" + headers + b"Content-Length: %d\r\n\r\n" % length


@pytest.mark.parametrize(
    "head",
    [post(900, b""), post(LIMIT + 1), post(900).replace(b"POST", b"DELETE"), post(900).replace(b"POST", b"GET")],
    ids=["no credentials", "too large", "DELETE", "GET"],
)
def test_what_nobody_will_read_is_never_held(head: bytes) -> None:
    intake = Intake(SETTINGS)
    assert parser(intake, head + b"x" * 899).completed is False
    assert intake.held == 0


@pytest.mark.parametrize(
    ("path", "headers", "held"),
    [
        ("/console/session", b"", 900),
        ("/console/session", b"Cookie: a=b\r\n", 900),
        ("/console/sso", b"", 900),
        ("/console/session/x", b"", 0),
        ("/console/x", b"Cookie: a=b\r\n", 0),
        ("/console/v1/leases", b"Cookie: a=b\r\n", 900),
        ("/console/v1/leases", b"", 0),
        # The API itself does not look at cookies.
        ("/v1/leases", b"Cookie: a=b\r\n", 0),
    ],
)
def test_what_signs_somebody_in_is_read_without_credentials(path: str, headers: bytes, held: int) -> None:
    intake = Intake(SETTINGS)
    parser(intake, post(900, headers).replace(b"/v1/leases", path.encode(), 1) + b"x" * 900)
    assert intake.held == held


def test_no_sign_in_is_large() -> None:
    for length, held in ((LONGEST_BODY, LONGEST_BODY), (LONGEST_BODY + 1, 0)):
        intake = Intake(replace(SETTINGS, max_body=10**6))
        parser(intake, post(length, b"").replace(b"/v1/leases", b"/console/session") + b"x" * length)
        assert intake.held == held


def test_a_body_that_is_read_is_held_until_its_request_is_answered() -> None:
    intake = Intake(SETTINGS)
    made = parser(intake, post(5) + b"hello")
    assert made.completed
    assert made.get_body_stream().read() == b"hello"
    assert intake.held == 5
    made.close()
    made.close()
    assert intake.held == 0


def test_chunks_are_kept_as_far_as_the_api_reads_them() -> None:
    intake = Intake(SETTINGS)
    head = b"POST / HTTP/1.1\r\n" + TOKEN + b"Transfer-Encoding: chunked\r\n\r\n"
    made = parser(intake, head + b"800\r\n" + b"x" * 0x800 + b"\r\n0\r\n\r\n")
    assert made.completed
    assert intake.held == LIMIT + 1 == int(made.headers["CONTENT_LENGTH"])


@pytest.mark.parametrize("endless", [b"1" * 20_000, b"0\r\nX-A: " + b"a" * 20_000], ids=["size", "trailer"])
def test_what_stands_between_chunks_is_bounded(endless: bytes) -> None:
    head = b"POST / HTTP/1.1\r\n" + TOKEN + b"Transfer-Encoding: chunked\r\n\r\n"
    made = parser(Intake(SETTINGS), head + endless)
    assert made.completed
    assert made.error.code == 400


def test_beyond_the_budget_the_oldest_unfinished_body_goes() -> None:
    intake = Intake(SETTINGS, budget=2 * LIMIT)
    slow = [parser(intake, post(900) + b"x" * 899) for _ in range(2)]
    quick = parser(intake, post(500) + b"y" * 500)
    assert quick.completed
    assert quick.error is None
    assert intake.held == 899 + 500
    for each in slow:
        each.received(b"x")
        assert each.completed
    assert slow[1].error is None
    status, headers, content = slow[0].error.to_response()
    assert status == "503 Service Unavailable"
    assert dict(headers)["Retry-After"]
    assert json.loads(content)["code"] == "leasehold.overloaded"
    for each in (*slow, quick):
        each.close()
    assert intake.held == 0


# ---------------------------------------------------------------- a real process

CLIENTS = 400
SIZE = 500_000
"""Bytes of each body, 200 MB in total; below the size at which waitress moves a body to a file."""
ALLOWED_KIB = 120 * 1024


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Program]:
    with api_with_passwords(tmp_path) as started:
        yield started


def highest(api: Program) -> int:
    """Return the peak resident memory of the process, in KiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{api.process.pid}/status").read_text())
    assert found is not None
    return int(found[1])


@contextmanager
def sending(api: Program, headers: bytes) -> Iterator[list[socket.socket]]:
    """Let many clients send all but the last byte of a body, and wait until the server has received it."""
    port = urlsplit(api.url).port or 0
    with ExitStack() as stack:
        clients = []
        for _ in range(CLIENTS):
            clients.append(stack.enter_context(connect(api)))
            clients[-1].sendall(post(SIZE, headers) + b" " * (SIZE - 1))
        wait_for(lambda: unread(port) == 0, within=WITHIN)
        yield clients


def unread(port: int) -> int:
    """Return the number of bytes in the kernel's receive queues for this port."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    rows = (line.split() for line in lines)
    return sum(int(row[4].partition(":")[2], 16) for row in rows if int(row[1].partition(":")[2], 16) == port)


def status(client: socket.socket) -> int:
    client.sendall(b" ")
    return int(client.recv(65536).split(b" ", 2)[1])


def create(api: Program) -> int:
    body = {"name": "l", "start_date": "now", "end_date": "2099-01-01 00:00", "reservations": []}
    return requests.post(f"{api.url}/leases", json=body, auth=("alice", "right"), timeout=WITHIN).status_code


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True], ids=["no credentials", "invented credentials"])
def test_many_large_bodies_take_little_memory_and_stop_nobody(api: Program, *, known: bool) -> None:
    invented = f"Authorization: {basic('mallory', 'guess')}\r\n".encode()
    assert create(api) == 201
    before = highest(api)
    with sending(api, invented if known else b"") as clients:
        assert highest(api) - before < (ALLOWED_KIB if known else ALLOWED_KIB // 4)
        assert create(api) == 201
        # The oldest bodies were dropped when the later ones arrived.
        assert [status(client) for client in (clients[0], clients[-1])] == ([503, 401] if known else [401, 401])
    with sending(api, invented):
        # The budget of the closed connections is free again, or there would be no room for this request.
        assert create(api) == 201
