"""Waits go on when the service is away for a moment: it is restarted, or its database is."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from client.tests.conftest import Inside

pytestmark = pytest.mark.slow

WITHIN = 60.0


@contextmanager
def unreliable(endpoint: str, faults: deque[str]) -> Iterator[str]:
    """Yield the URL of a relay to the service: each long poll meets one of the faults, as long as there are any."""

    class Relay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fault = faults.popleft() if faults and "wait=" in self.path else None
            if fault == "cut":
                self.close_connection = True
            elif fault is not None:
                self.send_error(int(fault))
            else:
                self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            url = endpoint.removesuffix("/v1") + self.path
            answer = requests.request(self.command, url, headers=dict(self.headers), data=body, timeout=WITHIN)
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_wait_that_has_to_end_says_how_to_go_on(
    inside: Inside, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not the service: its error page is no JSON.
    with unreliable(endpoint, deque(["203"])) as url:
        monkeypatch.setenv("OS_ENDPOINT", url)
        said = inside("lease", "create", "waits", "--hosts", "1", "--for", "1h", "--wait")
    assert said.status == 1
    assert "does not answer in JSON" in said.err
    assert "The lease waits goes on without this command; see lease show " in said.err


def test_a_wait_goes_on_through_a_restart(inside: Inside, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = deque(["cut", "503"])
    with unreliable(endpoint, faults) as url:
        monkeypatch.setenv("OS_ENDPOINT", url)
        made = inside.ok("lease", "create", "waits", "--hosts", "1", "--for", "1h", "--wait", "-f", "json")
    assert (made.json["status"], faults) == ("ACTIVE", deque())
