"""A TCP relay between a service and its database that cuts the connection exactly at the commit of a new lease."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from enum import Enum
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING

from sqlalchemy import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator

NEW_LEASE = b"INSERT INTO leases"
COMMIT = b"COMMIT"
CHUNK = 65536


class Cut(Enum):
    """Where the next commit of a new lease is lost: the request to the database, or the answer on its way back."""

    QUESTION = "question"
    ANSWER = "answer"


class Relay(ThreadingTCPServer):
    """Forwards everything in both directions until it is told to cut."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        """Relay to this port of the loopback address."""
        super().__init__(("127.0.0.1", 0), _Connection)
        self.target = ("127.0.0.1", port)
        self.cut: Cut | None = None
        self.done = threading.Event()


class _Connection(BaseRequestHandler):
    """One connection of the service, and the matching one to the database."""

    def handle(self) -> None:
        relay, service = self.server, self.request
        assert isinstance(relay, Relay)
        with socket.create_connection(relay.target) as database, suppress(OSError):
            back = threading.Thread(target=_pump, args=(database, service), daemon=True)
            back.start()
            inserting = False
            while question := service.recv(CHUNK):
                inserting = inserting or NEW_LEASE in question
                if relay.cut and inserting and COMMIT in question:
                    _cut(relay, service, database, question)
                    # It ends when the database has answered, or knows that nobody asks any more.
                    back.join()
                    relay.done.set()
                    return
                database.sendall(question)
                inserting = inserting and COMMIT not in question


def _cut(relay: Relay, service: socket.socket, database: socket.socket, question: bytes) -> None:
    """Break both connections, the service's first; the database answers only the request it received."""
    cut, relay.cut = relay.cut, None
    service.shutdown(socket.SHUT_RDWR)
    if cut is Cut.ANSWER:
        database.sendall(question)
        database.shutdown(socket.SHUT_WR)
    else:
        database.shutdown(socket.SHUT_RDWR)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Forward the data; read and discard what has no receiver any more."""
    with suppress(OSError):
        while data := source.recv(CHUNK):
            with suppress(OSError):
                sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def relayed(database_url: str) -> Iterator[tuple[Relay, str]]:
    """Yield a relay to a database, and the URL that connects through it."""
    url = make_url(database_url)
    assert url.port is not None
    with Relay(url.port) as relay:
        thread = threading.Thread(target=relay.serve_forever, name="relay")
        thread.start()
        port = relay.server_address[1]
        try:
            yield relay, url.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        finally:
            relay.shutdown()
            thread.join()
