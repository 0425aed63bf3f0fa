"""Port 80 for the plugin's API tests: they have http://127.0.0.1/reservation and /compute written in."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import requests

from tests.openstack.cloud import CloudError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PORT = 80
# They belong to one connection, not to the message that goes through two.
_OF_ONE_HOP = frozenset({"connection", "content-encoding", "content-length", "host", "keep-alive", "transfer-encoding"})
_PATIENCE = 300


@contextlib.contextmanager
def serving(routes: Mapping[str, str]) -> Iterator[None]:
    """Pass what is asked of http://127.0.0.1/NAME/... on to the server of that name, until the block ends."""

    class Relay(_Relay):
        servers = routes

    try:
        server = ThreadingHTTPServer(("127.0.0.1", _PORT), Relay)
    except OSError as error:
        raise CloudError(
            f"The API tests of blazar-tempest-plugin call http://127.0.0.1/reservation, so that port {_PORT} has to be "
            f"ours while they run, and it cannot be had: {error.strerror}. Stop what listens there, or be root."
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="port-80")
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Relay(BaseHTTPRequestHandler):
    servers: Mapping[str, str]

    def _relay(self) -> None:
        name, _, rest = self.path.lstrip("/").partition("/")
        if name not in self.servers:
            self.send_error(404)
            return
        answer = requests.request(
            self.command,
            f"{self.servers[name]}/{rest}",
            data=self.rfile.read(int(self.headers.get("Content-Length") or 0)),
            headers={key: value for key, value in self.headers.items() if key.lower() not in _OF_ONE_HOP},
            allow_redirects=False,
            timeout=_PATIENCE,
        )
        self.send_response(answer.status_code, answer.reason)
        for key, value in answer.headers.items():
            if key.lower() not in _OF_ONE_HOP:
                self.send_header(key, value)
        if answer.status_code not in (204, 304):
            self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _relay  # noqa: N815  The base class looks for these.

    def log_message(self, *_: object) -> None:
        """Keep quiet: whoever answers has a log of its own."""
