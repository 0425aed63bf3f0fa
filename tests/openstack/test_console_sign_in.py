"""The web console with the real Keystone: sign-in with a password, another project, sign-out.

Nobody but Keystone and the service sees the tokens of a session, so a relay between the two notes them, and Keystone
itself is asked afterwards which of them it still accepts.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import Person
from tests.openstack.relay import Relay, listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.openstack.cloud import RunningCloud

COOKIE = "__Host-leasehold"
OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "X-Leasehold-Console": "1"}


@dataclass
class Issued:
    """The tokens that Keystone has issued through the relay at `url`, in their order."""

    url: str = ""
    tokens: list[str] = field(default_factory=list)


@contextmanager
def noting_tokens(keystone: str) -> Iterator[Issued]:
    """Relay requests to Keystone until the block ends."""
    issued, at = Issued(), urlsplit(keystone)

    class Noting(Relay):
        def target(self) -> str:
            return f"{at.scheme}://{at.netloc}{self.path}"

        def answered(self, headers: Mapping[str, str]) -> None:
            if self.command == "POST" and "X-Subject-Token" in headers:
                issued.tokens.append(headers["X-Subject-Token"])

    with listening(Noting) as port:
        issued.url = f"http://127.0.0.1:{port}{at.path}"
        yield issued


@dataclass
class Console:
    """A page of the console in a browser: it has the cookie, and says that the requests are its own."""

    root: str
    secret: str | None = None

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        cookie = {"Cookie": f"{COOKIE}={self.secret}"} if self.secret else {}
        answer = requests.request(method, f"{self.root}/console/{path}", json=body, headers=OWN | cookie, timeout=60)
        if "Set-Cookie" in answer.headers:
            self.secret = answer.headers["Set-Cookie"].partition(";")[0].partition("=")[2]
        return answer


def accepted(admin: Person, token: str) -> dict[str, Any] | None:
    """Return what Keystone says of a token, None if it does not accept it."""
    answer = admin.sdk.session.get(
        f"{admin.cloud.auth_url}/auth/tokens", headers={"X-Subject-Token": token}, raise_exc=False
    )
    assert answer.status_code in (200, 404), answer.text
    return answer.json()["token"] if answer.ok else None


def of_the_person(admin: Person, tokens: list[str]) -> dict[str, str | None]:
    """Return those of the tokens that Keystone accepts as the person's, each with the name of its project."""
    known = {token: accepted(admin, token) for token in tokens}
    return {
        token: found.get("project", {}).get("name")
        for token, found in known.items()
        if found is not None and found["user"]["name"] == admin.name
    }


@pytest.fixture(scope="module")
def admin(cloud: RunningCloud) -> Person:
    """Return the person who signs in, and who may ask Keystone about tokens."""
    return Person(cloud, "admin")


@pytest.fixture(scope="module")
def issued(cloud: RunningCloud) -> Iterator[Issued]:
    with noting_tokens(cloud.auth_url) as issued:
        yield issued


@pytest.fixture(scope="module")
def root(cloud: RunningCloud, issued: Issued) -> Iterator[str]:
    """Run a Leasehold that asks Keystone through the relay."""
    more = {"keystone_authtoken": {"auth_url": issued.url}}
    with running_leasehold(cloud, "console", more, with_manager=False) as leasehold:
        yield leasehold.url.removesuffix("/v1")


@pytest.fixture
def console(root: str, issued: Issued) -> Console:
    issued.tokens.clear()
    return Console(root)


def sign_in(console: Console, password: str) -> requests.Response:
    return console.ask("POST", "session", {"password": {"user": "admin", "password": password, "domain": "Default"}})


def test_a_wrong_password_opens_nothing(console: Console) -> None:
    answer = sign_in(console, "wrong")
    assert (answer.status_code, answer.json()["code"]) == (401, "leasehold.auth.unauthorized")
    assert console.ask("GET", "session").json()["session"] is None


def test_another_project_takes_the_place_of_the_first(console: Console, admin: Person, issued: Issued) -> None:
    answer = sign_in(console, admin.cloud.password)
    assert answer.status_code == 201, answer.text
    session = answer.json()["session"]
    projects = {each["name"]: each["id"] for each in session["projects"]}
    assert projects.keys() == {"admin", "alt", "demo"}
    before = session["project"]["name"]
    other = next(name for name in ("demo", "alt") if name != before)
    (first,) = [token for token, project in of_the_person(admin, issued.tokens).items() if project == before]
    answer = console.ask("POST", "session/project", {"project": projects[other]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["session"]["project"]["name"] == other
    assert accepted(admin, first) is None
    assert other in of_the_person(admin, issued.tokens).values()
    assert console.ask("GET", "v1/leases").json() == {"leases": []}


def test_signing_out_revokes_what_keystone_has_issued(console: Console, admin: Person, issued: Issued) -> None:
    assert sign_in(console, admin.cloud.password).status_code == 201
    valid = of_the_person(admin, issued.tokens)
    assert len(valid) == 2, "a token of no project, and one of a project"
    had = console.secret
    assert console.ask("DELETE", "session").status_code == 204
    assert [accepted(admin, token) for token in valid] == [None, None]
    # The cookie that the browser had opens nothing any more.
    assert Console(console.root, had).ask("GET", "v1/leases").status_code == 401
    assert Console(console.root, had).ask("GET", "session").json()["session"] is None
