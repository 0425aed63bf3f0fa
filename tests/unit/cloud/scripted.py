"""A faulty OpenStack: a real HTTP server with answers scripted by the test."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from leasehold import conf
from leasehold.cloud.openstack.connections import Connections
from leasehold.cloud.openstack.rest import ServiceClient
from leasehold.conf.keystone import SERVICES
from tests.processes import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Script:
    """The answers of the server, in order, with the last one repeated; and the requests it received.

    While `open` is cleared, requests of a path in `slow` get no answer.
    """

    slow: frozenset[str] = frozenset()
    open: threading.Event = field(default_factory=threading.Event)
    answers: list[tuple[int, Any]] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def next(self) -> tuple[int, Any]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serve the answers of the script; yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            script.asked.append((self.command, self.path, dict(self.headers)))
            if self.path in script.slow:
                assert script.open.wait(60)
            status, content = script.next()
            text = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = _answer  # noqa: N815 - the base class looks for these names.

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def service(tmp_path: Path, url: str, name: str = "nova", **cloud: object) -> ServiceClient:
    """Return a client of a service that needs no authentication; every service is at this URL."""
    file = tmp_path / "leasehold.conf"
    options = {"endpoint_override": url, "min_version": "", "max_version": ""}
    file.write_text(as_text({"cloud": {"auth_type": "none", **cloud}, **dict.fromkeys(SERVICES, options)}))
    return ServiceClient(Connections(conf.load(["--config-file", str(file)]).raw), name)
