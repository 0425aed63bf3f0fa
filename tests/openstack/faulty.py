"""A service of the cloud that can be made to answer as it does on a bad day: a relay in front of the real one."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_ONE_HOP = frozenset({"connection", "content-encoding", "content-length", "host", "keep-alive", "transfer-encoding"})


@dataclass
class Trouble:
    """The next `remaining` requests with one of `methods` get `status` and never reach the service.

    `code` is what Placement calls the error.
    """

    status: int
    code: str
    methods: frozenset[str]
    remaining: int
    given: int = 0


@dataclass
class Faulty:
    """The relay's controls."""

    url: str
    troubles: list[Trouble] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def trouble(self, status: int, code: str, methods: str, times: int) -> Trouble:
        """Answer so many requests with one of these methods, divided by spaces, with an error."""
        trouble = Trouble(status, code, frozenset(methods.split()), times)
        with self.lock:
            self.troubles.append(trouble)
        return trouble

    def next_for(self, method: str) -> Trouble | None:
        """Take the trouble that a request runs into, if any."""
        with self.lock:
            for trouble in self.troubles:
                if trouble.remaining and method in trouble.methods:
                    trouble.remaining -= 1
                    trouble.given += 1
                    return trouble
        return None


@contextmanager
def in_front_of(service: str) -> Iterator[Faulty]:
    """Relay what is asked to the service at this URL until the block ends."""

    class Handler(_Relay):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.service, Handler.faulty = service, Faulty(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, name="faulty")
    thread.start()
    try:
        yield Handler.faulty
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Relay(BaseHTTPRequestHandler):
    service: str
    faulty: Faulty

    def _relay(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        trouble = self.faulty.next_for(self.command)
        if trouble is not None:
            error = {"status": trouble.status, "code": trouble.code, "title": "Trouble", "detail": "made by the test"}
            self._answer(trouble.status, {"Content-Type": "application/json"}, json.dumps({"errors": [error]}).encode())
            return
        answer = requests.request(
            self.command,
            f"{self.service}{self.path}",
            data=body,
            headers={key: value for key, value in self.headers.items() if key.lower() not in _OF_ONE_HOP},
            allow_redirects=False,
            timeout=60,
        )
        headers = {key: value for key, value in answer.headers.items() if key.lower() not in _OF_ONE_HOP}
        self._answer(answer.status_code, headers, answer.content)

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if status != requests.codes.no_content:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _relay  # noqa: N815 - the base class looks for these names.

    def log_message(self, *_: object) -> None:
        """Keep quiet: the service has a log of its own."""
