"""Clients that do not read their answers do not occupy a thread for ever, and do not delay the shutdown of an API."""

from __future__ import annotations

import socket
from contextlib import closing, contextmanager
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from bench.fill import filled
from leasehold.api.limits.admission_control import AdmissionControl
from leasehold.cmd.serve import ApiServer, listen
from leasehold.cmd.slow_readers import RUNNING_SECONDS, SlowReaders
from leasehold.conf.settings import ApiSettings
from tests.load.conftest import WITHIN
from tests.processes import running, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

PIECE = b"x" * 2**20
ASK = b"GET /v1/leases HTTP/1.1\r\nHost: localhost\r\n\r\n"
LEASES = 5_000
"""The list of these leases is about 7 MB, more than the kernel buffers for a client that does not read."""


class Endless:
    """An application whose answer never ends; `left` is set when the server closes the answer."""

    def __init__(self) -> None:
        self.left = Event()

    def __call__(self, _environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return self._pieces()

    def _pieces(self) -> Iterator[bytes]:
        try:
            while True:
                yield PIECE
        finally:
            self.left.set()


@contextmanager
def reader(port: int) -> Iterator[socket.socket]:
    """Connect a client with a small receive buffer, and send its request."""
    with closing(socket.socket()) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(WITHIN)
        client.connect(("127.0.0.1", port))
        client.sendall(ASK)
        yield client


def turning(server: ApiServer, until: Any) -> None:
    def turned() -> bool:
        server.turn(0.01)
        return bool(until())

    wait_for(turned, within=WITHIN)


def test_who_reads_nothing_holds_a_thread_for_a_while_and_who_reads_slowly_for_as_long_as_it_takes() -> None:
    clock = [0.0]
    settings, endless = ApiSettings(host="127.0.0.1", port=free_port()), Endless()
    server: Any = listen(endless, settings, AdmissionControl(settings))  # type: ignore[arg-type]  # Any WSGI application will do.
    readers = SlowReaders(lambda: clock[0])
    with reader(settings.port) as client:
        turning(server, server.channels)
        (channel,) = server.channels()

        def blocked() -> bool:
            before = channel.last_activity
            server.turn(0.05)
            return bool(
                channel.total_outbufs_len > channel.adj.outbuf_high_watermark and channel.last_activity == before
            )

        wait_for(blocked, within=WITHIN)
        readers.hang_up(server.channels(), RUNNING_SECONDS)
        for _ in range(3):
            clock[0] += 0.75 * RUNNING_SECONDS
            known = channel.last_activity
            while channel.last_activity == known:
                client.recv(2**20)
                server.turn(0.0)
            readers.hang_up(server.channels(), RUNNING_SECONDS)
            assert server.channels() == [channel]
        clock[0] += RUNNING_SECONDS
        readers.hang_up(server.channels(), RUNNING_SECONDS)
        assert server.channels() == []
        assert endless.left.wait(WITHIN)
    server.close()


def test_an_api_that_stops_does_not_wait_for_who_reads_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/leasehold.db"
    filled(url, 10, LEASES)
    with running("leasehold-api", database_url=url, options={"api": {"shutdown_seconds": 10 * WITHIN}}) as api:
        with reader(int(api.root.rpartition(":")[2])) as client:
            assert client.recv(12) == b"HTTP/1.1 200"
            begun = monotonic()
            assert api.stop() == 0
        assert monotonic() - begun < WITHIN
        assert "did not read" in api.log.read_text()
