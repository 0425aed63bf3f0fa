"""A fake of Keystone's token API over real HTTP, to test the real middleware without a cloud."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DOMAIN = {"id": "default", "name": "Default"}
SERVICES_OWN = "token-of-the-service"


@dataclass
class Keystone:
    """The server's tokens and the tokens it was asked to validate. If `failing` is set, each answer has that status."""

    url: str
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    failing: int | None = None

    def issue(
        self,
        name: str,
        *roles: str,
        project: str | None = "demo",
        lasting: timedelta = timedelta(hours=1),
        **more: Any,
    ) -> str:
        """Register `name` as a token of the user `user-of-NAME` and return it; the token's document includes `more`."""
        scope = {} if project is None else {"project": {"id": project, "name": project, "domain": DOMAIN}}
        now = datetime.now(UTC)
        self.tokens[name] = {
            "methods": ["password"],
            "user": {"id": f"user-of-{name}", "name": name, "domain": DOMAIN, "password_expires_at": None},
            "roles": [{"id": role, "name": role} for role in roles],
            "issued_at": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "expires_at": (now + lasting).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "audit_ids": [name],
            "catalog": self._catalog(),
            **scope,
            **more,
        }
        return name

    def _catalog(self) -> list[dict[str, Any]]:
        faces = ("public", "internal", "admin")
        endpoints = [
            {"id": face, "interface": face, "region": "R", "region_id": "R", "url": self.url} for face in faces
        ]
        return [
            {"id": "k", "type": "identity", "name": "keystone", "endpoints": endpoints},
            {"id": "b", "type": "reservation", "name": "blazar", "endpoints": []},
        ]

    def answer(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and body, as Keystone does for the few requests that a service sends."""
        if self.failing is not None:
            return self.failing, {}, {"error": {"code": self.failing, "title": "Failing", "message": "On purpose."}}
        if method == "POST":
            return 201, {"X-Subject-Token": SERVICES_OWN}, {"token": self.tokens[SERVICES_OWN]}
        if not path.startswith("/v3/auth/tokens"):
            links = [{"rel": "self", "href": self.url}]
            return 200, {}, {"version": {"id": "v3.14", "status": "stable", "links": links}}
        if headers.get("X-Auth-Token") != SERVICES_OWN:
            return 401, {}, {"error": {"code": 401, "title": "Unauthorized", "message": "Who are you?"}}
        return self._validate(headers["X-Subject-Token"], expired_too="allow_expired" in path)

    def _validate(self, name: str, *, expired_too: bool) -> tuple[int, dict[str, str], Any]:
        self.asked.append(name)
        token = self.tokens.get(name)
        if token is None or (datetime.fromisoformat(token["expires_at"]) < datetime.now(UTC) and not expired_too):
            return 404, {}, {"error": {"code": 404, "title": "Not Found", "message": "Failed to validate token"}}
        return 200, {"X-Subject-Token": name}, {"token": token}


@contextmanager
def running_keystone() -> Iterator[Keystone]:
    """Run a fake Keystone on a free port until the block ends."""
    keystone = Keystone("")

    class Handler(BaseHTTPRequestHandler):
        def _respond(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, content = keystone.answer(self.command, self.path, dict(self.headers))
            body = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json", "Content-Length": len(body)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _respond  # noqa: N815 - the names that http.server looks for.

        def log_message(self, *_: object) -> None:
            """Log nothing; `asked` records the requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        keystone.url = f"http://127.0.0.1:{server.server_port}/v3"
        keystone.tokens[SERVICES_OWN] = keystone.tokens.pop(keystone.issue("us", "admin", "service", project="service"))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="keystone")
        thread.start()
        try:
            yield keystone
        finally:
            server.shutdown()
            thread.join()
