"""A relay between a service and its database that cuts the connection exactly at a commit, such as of a new lease."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import contextmanager, suppress
from enum import Enum
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING

from sqlalchemy import make_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NEW_LEASE = re.compile(rb"INSERT INTO leases")
POOL = re.compile(rb"(?:UPDATE|INTO) pools")
"""What a transaction sends that creates a lease; and one that changes what is free, which begins with that."""
COMMIT = b"COMMIT"
CHUNK = 65536


class Cut(Enum):
    """Where the next commit is lost: the request to the database, or the answer on its way back."""

    QUESTION = "question"
    ANSWER = "answer"


class Relay(ThreadingTCPServer):
    """Forwards everything in both directions until it is told to cut.

    That is at the commit of a transaction that has sent what `of` matches, after as many others as it shall `skip`.
    With `kill` the service is not cut off: it is called when the database has been asked to commit, and no answer
    arrives any more.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        """Relay to this port of the loopback address."""
        super().__init__(("127.0.0.1", 0), _Connection)
        self.target = ("127.0.0.1", port)
        self.cut: Cut | None = None
        self.of = NEW_LEASE
        self.skip = 0
        self.kill: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self.done = threading.Event()

    def cuts(self) -> Cut | None:
        """Return where to cut the commit that comes now, once; None for each other one."""
        with self._lock:
            if self.cut is None:
                return None
            if self.skip:
                self.skip -= 1
                return None
            cut, self.cut = self.cut, None
            return cut


class _Connection(BaseRequestHandler):
    """One connection of the service, and the matching one to the database."""

    def handle(self) -> None:
        relay, service = self.server, self.request
        assert isinstance(relay, Relay)
        with socket.create_connection(relay.target) as database, suppress(OSError):
            try:
                self._forward(relay, service, database)
            finally:
                # To close it alone tells the database nothing while the other thread reads from it.
                database.shutdown(socket.SHUT_RDWR)

    def _forward(self, relay: Relay, service: socket.socket, database: socket.socket) -> None:
        hushed = threading.Event()
        back = threading.Thread(target=_pump, args=(database, service, hushed), daemon=True)
        back.start()
        matching = False
        while question := service.recv(CHUNK):
            matching = matching or relay.of.search(question) is not None
            commits = matching and COMMIT in question
            if commits and (cut := relay.cuts()):
                if relay.kill is not None:
                    hushed.set()
                    database.sendall(question)
                    relay.kill()
                    database.shutdown(socket.SHUT_WR)
                else:
                    _cut(cut, service, database, question)
                # It ends when the database has answered, or knows that nobody asks any more.
                back.join()
                relay.done.set()
                return
            database.sendall(question)
            matching = matching and not commits


def _cut(cut: Cut, service: socket.socket, database: socket.socket, question: bytes) -> None:
    """Break both connections, the service's first; the database answers only the request it received."""
    service.shutdown(socket.SHUT_RDWR)
    if cut is Cut.ANSWER:
        database.sendall(question)
        database.shutdown(socket.SHUT_WR)
    else:
        database.shutdown(socket.SHUT_RDWR)


def _pump(source: socket.socket, sink: socket.socket, hushed: threading.Event) -> None:
    """Forward the data; read and discard what has no receiver any more, or shall not arrive."""
    with suppress(OSError):
        while data := source.recv(CHUNK):
            if not hushed.is_set():
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
