"""An HTTP server in a thread, whose answers a function returns, and one that answers with bytes of any kind."""

from __future__ import annotations

import socketserver
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping

    Answer = tuple[int, Mapping[str, str], bytes]


@dataclass(frozen=True)
class Asked:
    """A request that the server received, and the address it came from."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    peer: str


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that has left is what tests of impatient clients are about; everything else is printed.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(
    answer: Callable[[Asked], Answer], tls: ssl.SSLContext | None = None, *, keep_alive: bool = False
) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1 until the block ends; yield the URL without a path.

    `answer` returns status, headers and body, and runs in a thread for each connection; `keep_alive` says whether a
    connection can be used again.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1" if keep_alive else "HTTP/1.0"

        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(self.command, self.path, dict(self.headers), body, self.client_address[0])
            status, headers, content = answer(asked)
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "content-length" not in {name.lower() for name in headers}:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond  # noqa: N815 - the names that http.server looks for.

        def log_message(self, *_: object) -> None:
            """Log nothing; tests record the requests that they need."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="serving")
        thread.start()
        try:
            yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def raw(*parts: bytes, endless: bytes = b"", pause: float = 0, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Yield the URL of a server that answers with these bytes, and then with `endless` until nobody listens."""
    over = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                while self.rfile.readline().strip():
                    pass
                for part in parts:
                    self.wfile.write(part)
                while endless and not over.wait(pause):
                    self.wfile.write(endless)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_address[1]}/"
        finally:
            over.set()
            server.shutdown()
            thread.join()
