"""A browser as far as the console's rules go: it keeps cookies, and says in its headers where a request comes from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from falcon import testing

COOKIE = "__Host-leasehold"
SHELL = {"X-Leasehold-Console": "1"}


@dataclass(frozen=True)
class Browser:
    """A browser in which a page of the console is open, unless `site` says that another page sends the requests.

    It sends every cookie that it has; what browsers keep back because of `SameSite`, the tests leave out themselves.
    """

    web: testing.TestClient
    site: str | None = "same-origin"
    shell: bool = True
    jar: dict[str, str] = field(default_factory=dict)

    def but(self, **changes: Any) -> Browser:
        """Return a browser with the same cookies."""
        return replace(self, **changes)

    def stranger(self) -> Browser:
        """Return another person's browser."""
        return replace(self, jar={})

    def ask(self, method: str, path: str, body: Any = None, *, person: bool = False, **more: Any) -> testing.Result:
        """Send a request below /console, with a body as JSON or `content` as it is; keep the cookies of the answer."""
        headers = dict(SHELL) if self.shell else {}
        if self.site is not None:
            headers |= {"Sec-Fetch-Site": self.site, "Sec-Fetch-Mode": "cors"}
        if person:
            headers["X-Leasehold-Person"] = "1"
        if self.jar:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        headers |= more.pop("headers", {})
        if body is not None:
            more["json"] = body
        if "content" in more:
            more["body"] = more.pop("content")
        answer = self.web.simulate_request(method, f"/console/{path}", headers=headers, **more)
        self._keep(answer)
        return answer

    def _keep(self, answer: testing.Result) -> None:
        for name, cookie in answer.cookies.items():
            if cookie.max_age == 0:
                self.jar.pop(name, None)
            else:
                self.jar[name] = cookie.value

    @property
    def secret(self) -> str:
        """The secret in the session's cookie."""
        return self.jar[COOKIE]

    def who(self) -> dict[str, Any] | None:
        """Return who is signed in."""
        answer = self.ask("GET", "session")
        assert answer.status_code == 200, answer.text
        session: dict[str, Any] | None = answer.json["session"]
        return session

    def act_as(self, user: str = "alice", project: str = "demo", *roles: str) -> dict[str, Any]:
        """Sign in where nobody has to prove who they are."""
        way = {"user": user, "project": project, "roles": list(roles) or ["member"]}
        answer = self.ask("POST", "session", {"act_as": way})
        assert answer.status_code == 201, answer.text
        session: dict[str, Any] = answer.json["session"]
        return session
