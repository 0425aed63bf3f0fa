"""A fake of Keystone's token API over real HTTP, to test the real middleware without a cloud."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from tests.serving import Asked

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
        token: str | None = None,
        **more: Any,
    ) -> str:
        """Register a token of the user `user-of-NAME`, by default `name` itself, and return it.

        The token's document includes `more`.
        """
        scope = {} if project is None else {"project": {"id": project, "name": project, "domain": DOMAIN}}
        now = datetime.now(UTC)
        token = token or name
        self.tokens[token] = {
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
        return token

    def _catalog(self) -> list[dict[str, Any]]:
        faces = ("public", "internal", "admin")
        endpoints = [
            {"id": face, "interface": face, "region": "R", "region_id": "R", "url": self.url} for face in faces
        ]
        return [
            {"id": "k", "type": "identity", "name": "keystone", "endpoints": endpoints},
            {"id": "b", "type": "reservation", "name": "blazar", "endpoints": []},
        ]

    def answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, dict[str, str], Any]:
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


Kind = TypeVar("Kind", bound=Keystone)


@contextmanager
def serving_keystone(keystone: Kind) -> Iterator[Kind]:
    """Let a fake Keystone answer on a free port until the block ends."""

    def respond(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        status, headers, content = keystone.answer(asked.method, asked.path, asked.headers, asked.body)
        sent = b"" if content is None else json.dumps(content).encode()
        return status, {**headers, "Content-Type": "application/json"}, sent

    with serving(respond) as url:
        keystone.url = f"{url}/v3"
        keystone.issue("us", "admin", "service", project="service", token=SERVICES_OWN)
        yield keystone


def running_keystone() -> AbstractContextManager[Keystone]:
    """Run a fake Keystone on a free port until the block ends."""
    return serving_keystone(Keystone(""))
