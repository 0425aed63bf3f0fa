"""An HTTP relay: passes requests to another server, and its answers back."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Hop-by-hop headers, which belong to one connection and not to the relayed message.
_OF_ONE_HOP = frozenset({"connection", "content-encoding", "content-length", "host", "keep-alive", "transfer-encoding"})
_PATIENCE = 300
CUT = 0, b""
"""The trouble of a connection that is closed without an answer."""


class Relay(BaseHTTPRequestHandler, ABC):
    """A relay; its subclasses choose the server, or an answer without one."""

    @abstractmethod
    def target(self) -> str | None:
        """Return the URL to relay to; None answers 404."""

    def trouble(self) -> tuple[int, bytes] | None:
        """Return a status and JSON to answer instead of the server, `CUT`, or None."""
        return None

    def answered(self, headers: Mapping[str, str]) -> None:
        """See the headers of an answer of the server, before it is passed back."""

    def loses(self) -> bool:
        """Say whether the answer of the server is not passed back, and the connection is closed."""
        return False

    def _relay(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        trouble, target = self.trouble(), self.target()
        if trouble == CUT:
            self.close_connection = True
        elif trouble is not None:
            self._answer(trouble[0], {"Content-Type": "application/json"}, trouble[1])
        elif target is None:
            self.send_error(404)
        else:
            answer = requests.request(
                self.command,
                target,
                data=body,
                headers={key: value for key, value in self.headers.items() if key.lower() not in _OF_ONE_HOP},
                allow_redirects=False,
                timeout=_PATIENCE,
            )
            self.answered(answer.headers)
            if self.loses():
                self.close_connection = True
            else:
                self._answer(answer.status_code, answer.headers, answer.content)

    def _answer(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.send_response(status)
        for key, value in headers.items():
            if key.lower() not in _OF_ONE_HOP:
                self.send_header(key, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _relay  # noqa: N815  The base class looks for these.

    def log_message(self, *_: object) -> None:
        """Log nothing: the server has its own log."""


@contextmanager
def listening(kind: type[BaseHTTPRequestHandler], port: int = 0) -> Iterator[int]:
    """Serve, or relay, on this port of the loopback address, or a free one, until the block ends; yields the port."""
    server = ThreadingHTTPServer(("127.0.0.1", port), kind)
    thread = threading.Thread(target=server.serve_forever, name=f"relay-{server.server_port}")
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
