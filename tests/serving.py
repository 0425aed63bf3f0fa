"""An HTTP server in a thread, whose answers a function returns."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

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


@contextmanager
def serving(answer: Callable[[Asked], Answer], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1 until the block ends; yield the URL without a path.

    `answer` returns status, headers and body, and runs in a thread for each connection.
    """

    class Handler(BaseHTTPRequestHandler):
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

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="serving")
        thread.start()
        try:
            yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
