"""Sign-in at the console with a real Keystone: the projects, the switch, and tokens that are revoked at the end.

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

from tests.openstack.test_keystone import BODY, options, session, token
from tests.processes import prepare_database, running
from tests.relay import Relay, listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.openstack.cloud.running import RunningCloud

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
class Page:
    """A page of the console in a browser: it has the cookie, and says that the requests are its own."""

    root: str
    cookie: str = ""

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        """Send a request, and keep the cookie of the answer."""
        headers = {**OWN, "Cookie": self.cookie}
        answer = requests.request(method, f"{self.root}/console/{path}", json=body, headers=headers, timeout=60)
        if "Set-Cookie" in answer.headers:
            self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        return answer

    def session(self, body: Any, path: str = "session") -> Any:
        """Sign in, or change the project, and return the session."""
        answer = self.ask("POST", path, body)
        assert answer.ok, answer.text
        return answer.json()["session"]


@pytest.fixture(scope="module")
def issued(cloud: RunningCloud) -> Iterator[Issued]:
    with noting_tokens(cloud.auth_url) as issued:
        yield issued


@pytest.fixture(scope="module")
def root(cloud: RunningCloud, issued: Issued, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run an API that asks Keystone through the relay."""
    database_url = f"sqlite:///{tmp_path_factory.mktemp('console')}/leasehold.db"
    prepare_database(database_url)
    with running("leasehold-api", database_url=database_url, options=options(cloud, auth_url=issued.url)) as api:
        yield api.root


@pytest.fixture
def page(root: str, issued: Issued) -> Page:
    issued.tokens.clear()
    return Page(root)


@pytest.fixture
def of_demo(cloud: RunningCloud) -> Iterator[tuple[str, str]]:
    """Make `demo` a reader of the project `alt` for the test, and return the ids of both projects."""
    admin, base = session(cloud, "admin"), cloud.auth_url
    demo = session(cloud, "demo")
    ids = str(demo.get_project_id()), str(session(cloud, "alt").get_project_id())
    role = next(each["id"] for each in admin.get(f"{base}/roles?name=reader").json()["roles"])
    grant = f"{base}/projects/{ids[1]}/users/{demo.get_user_id()}/roles/{role}"
    admin.put(grant)
    yield ids
    admin.delete(grant)


def accepted(cloud: RunningCloud, tokens: list[str]) -> dict[str, str | None]:
    """Return those of the tokens that Keystone accepts as demo's, each with the id of its project."""
    found = {}
    for each in dict.fromkeys(tokens):
        headers = {"X-Subject-Token": each}
        answer = session(cloud, "admin").get(f"{cloud.auth_url}/auth/tokens", headers=headers, raise_exc=False)
        assert answer.status_code in (200, 404), answer.text
        if answer.ok and answer.json()["token"]["user"]["name"] == "demo":
            found[each] = answer.json()["token"].get("project", {}).get("id")
    return found


def way(cloud: RunningCloud, **more: str) -> dict[str, Any]:
    return {"password": {"user": "demo", "password": cloud.password, **more}}


def test_a_person_signs_in_leases_and_goes_to_another_project(
    cloud: RunningCloud, page: Page, issued: Issued, of_demo: tuple[str, str]
) -> None:
    demo, alt = of_demo
    before = page.session(way(cloud, project=demo))
    assert (before["user"]["name"], before["user"]["domain"]) == ("demo", "Default")
    assert before["project"]["id"] == demo
    assert {each["id"] for each in before["projects"]} == {demo, alt}
    assert before["can_switch"]
    lease = page.ask("POST", "v1/leases", BODY).json()["lease"]
    assert (lease["user_id"], lease["project_id"]) == (before["user"]["id"], demo)
    assert page.ask("DELETE", f"v1/leases/{lease['id']}").status_code == 204
    old = Page(page.root, page.cookie)
    assert sorted(accepted(cloud, issued.tokens).values(), key=str) == sorted((None, demo), key=str)
    after = page.session({"project": alt}, "session/project")
    assert (after["project"]["id"], after["roles"]) == (alt, ["reader"])
    assert after["expires_at"] == before["expires_at"]
    # The token of the project that was left is revoked, and the cookie opens nothing any more.
    assert sorted(accepted(cloud, issued.tokens).values(), key=str) == sorted((None, alt), key=str)
    assert old.ask("GET", "v1/leases").status_code == 401
    assert page.ask("GET", "v1/leases").json() == {"leases": []}
    assert page.ask("POST", "v1/leases", BODY).status_code == 403


def test_signing_out_revokes_what_keystone_has_issued(cloud: RunningCloud, page: Page, issued: Issued) -> None:
    page.session(way(cloud))
    assert len(accepted(cloud, issued.tokens)) == 2, "a token of no project, and one of a project"
    had = Page(page.root, page.cookie)
    assert page.ask("DELETE", "session").status_code == 204
    assert accepted(cloud, issued.tokens) == {}
    assert had.ask("GET", "v1/leases").status_code == 401
    assert had.ask("GET", "session").json()["session"] is None


def test_keystones_no_opens_nothing(cloud: RunningCloud, page: Page, issued: Issued) -> None:
    wrong = {"password": {"user": "demo", "password": "wrong"}}
    answer = page.ask("POST", "session", wrong)
    assert (answer.status_code, answer.json()["code"]) == (401, "leasehold.auth.unauthorized")
    elsewhere = page.ask("POST", "session", way(cloud, project="0" * 32))
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (403, "leasehold.session.no_project")
    # The token of no project that Keystone issued on the way is of no use to anybody.
    assert accepted(cloud, issued.tokens) == {}
    assert page.cookie == ""
    assert page.ask("GET", "session").json()["session"] is None


def test_the_rules_of_an_application_credential_count(cloud: RunningCloud, page: Page) -> None:
    demo = session(cloud, "demo")
    place = f"{cloud.auth_url}/users/{demo.get_user_id()}/application_credentials"
    rules = [{"service": "reservation", "method": "GET", "path": "/v1/leases"}]
    new = {"application_credential": {"name": "console", "secret": "hush-9", "access_rules": rules}}
    made = demo.post(place, json=new).json()["application_credential"]
    try:
        found = page.session({"application_credential": {"id": made["id"], "secret": "hush-9"}})
        assert (found["project"]["name"], found["can_switch"]) == ("demo", False)
        assert found["access_rules"] == [{"method": "GET", "path": "/v1/leases"}]
        assert page.ask("GET", "v1/leases").status_code == 200
        assert page.ask("POST", "v1/leases", BODY).status_code == 403
        assert page.ask("DELETE", "session").status_code == 204
    finally:
        demo.delete(f"{place}/{made['id']}")


def test_a_token_that_a_person_has_is_exchanged_and_left_alone(cloud: RunningCloud, page: Page, issued: Issued) -> None:
    own = token(cloud, "demo")
    found = page.session({"token": {"token": own}})
    assert (found["project"]["name"], found["can_switch"]) == ("demo", True)
    assert page.ask("GET", "v1/leases").status_code == 200
    assert page.ask("DELETE", "session").status_code == 204
    assert list(accepted(cloud, [own, *issued.tokens])) == [own]
