"""Sign-in at the console with a real Keystone: the projects, the switch, and tokens that are revoked at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import requests
from keystoneauth1 import session as sessions
from keystoneauth1.identity import v3

from tests.openstack.test_keystone import BODY, options
from tests.processes import Program, prepare_database, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.openstack.cloud.running import RunningCloud

OWN = {"Sec-Fetch-Site": "same-origin", "X-Leasehold-Console": "1"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("console") / "leasehold.db"


@pytest.fixture(scope="module")
def api(cloud: RunningCloud, database: Path) -> Iterator[Program]:
    prepare_database(f"sqlite:///{database}")
    with running("leasehold-api", database_url=f"sqlite:///{database}", options=options(cloud)) as api:
        yield api


class Page:
    """A page of the console in a browser."""

    def __init__(self, api: Program) -> None:
        self.root = f"{api.root}/console"
        self.cookie = ""

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        """Send a request, and keep the cookie of the answer."""
        headers = {**OWN, "Cookie": self.cookie}
        answer = requests.request(method, f"{self.root}/{path}", json=body, headers=headers, timeout=60)
        if "Set-Cookie" in answer.headers:
            self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        return answer


@pytest.fixture
def page(api: Program) -> Page:
    return Page(api)


def administrator(cloud: RunningCloud) -> sessions.Session:
    auth = v3.Password(
        cloud.auth_url,
        username="admin",
        password=cloud.password,
        user_domain_name="Default",
        project_name="admin",
        project_domain_name="Default",
    )
    return sessions.Session(auth)


@pytest.fixture
def of_demo(cloud: RunningCloud) -> Iterator[tuple[str, str]]:
    """Make `demo` a reader of the project `alt` for the test, and return the ids of both projects."""
    admin = administrator(cloud)
    base = cloud.auth_url
    ids = {each["name"]: each["id"] for each in admin.get(f"{base}/projects").json()["projects"]}
    user = next(each["id"] for each in admin.get(f"{base}/users?name=demo").json()["users"])
    role = next(each["id"] for each in admin.get(f"{base}/roles?name=reader").json()["roles"])
    grant = f"{base}/projects/{ids['alt']}/users/{user}/roles/{role}"
    admin.put(grant)
    yield ids["demo"], ids["alt"]
    admin.delete(grant)


def is_valid(cloud: RunningCloud, token: str) -> bool:
    """Ask Keystone itself whether a token is valid."""
    headers = {"X-Subject-Token": token}
    answer = administrator(cloud).get(f"{cloud.auth_url}/auth/tokens", headers=headers, raise_exc=False)
    return bool(answer.status_code == 200)


def way(cloud: RunningCloud, **more: str) -> dict[str, Any]:
    return {"password": {"user": "demo", "password": cloud.password, **more}}


def test_a_person_signs_in_leases_switches_and_leaves(
    cloud: RunningCloud, page: Page, of_demo: tuple[str, str]
) -> None:
    demo, alt = of_demo
    session = page.ask("POST", "session", way(cloud, project=demo)).json()["session"]
    assert (session["user"]["name"], session["user"]["domain"]) == ("demo", "Default")
    assert session["project"]["id"] == demo
    assert {each["id"] for each in session["projects"]} == {demo, alt}
    assert session["can_switch"]
    lease = page.ask("POST", "v1/leases", BODY).json()["lease"]
    assert (lease["user_id"], lease["project_id"]) == (session["user"]["id"], demo)
    assert page.ask("DELETE", f"v1/leases/{lease['id']}").status_code == 204
    before = page.cookie
    switched = page.ask("POST", "session/project", {"project": alt}).json()["session"]
    assert (switched["project"]["id"], switched["roles"]) == (alt, ["reader"])
    assert switched["expires_at"] == session["expires_at"]
    assert page.ask("POST", "v1/leases", BODY).status_code == 403
    after = page.cookie
    assert page.ask("DELETE", "session").status_code == 204
    for cookie in (before, after):
        page.cookie = cookie
        assert page.ask("GET", "v1/leases").status_code == 401


def test_signing_out_revokes_what_keystone_issued(cloud: RunningCloud, page: Page, database: Path) -> None:
    """The tokens are read with the browser's own secret, which alone opens the row."""
    from sqlalchemy import create_engine, text  # noqa: PLC0415

    from leasehold.api.console.identity import unseal  # noqa: PLC0415

    assert page.ask("POST", "session", way(cloud)).status_code == 201
    engine = create_engine(f"sqlite:///{database}")
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT sealed FROM sessions ORDER BY created_at")).scalars().all()
    engine.dispose()
    identity = unseal(rows[-1], page.cookie.partition("=")[2])
    assert identity is not None
    assert len(set(identity.revoke)) == 2
    assert {identity.token, identity.unscoped} == set(identity.revoke)
    assert all(is_valid(cloud, token) for token in identity.revoke)
    assert page.ask("DELETE", "session").status_code == 204
    assert not any(is_valid(cloud, token) for token in identity.revoke)


def test_keystones_no_is_a_sentence(cloud: RunningCloud, page: Page) -> None:
    wrong = {"password": {"user": "demo", "password": "wrong"}}
    answer = page.ask("POST", "session", wrong)
    assert (answer.status_code, answer.json()["code"]) == (401, "leasehold.auth.unauthorized")
    elsewhere = page.ask("POST", "session", way(cloud, project="0" * 32))
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (403, "leasehold.session.no_project")
    assert page.cookie == ""


def test_an_application_credential_opens_its_project(cloud: RunningCloud, page: Page) -> None:
    auth = v3.Password(
        cloud.auth_url,
        username="demo",
        password=cloud.password,
        user_domain_name="Default",
        project_name="demo",
        project_domain_name="Default",
    )
    demo = sessions.Session(auth)
    place = f"{cloud.auth_url}/users/{demo.get_user_id()}/application_credentials"
    rules = [{"service": "reservation", "method": "GET", "path": "/v1/leases"}]
    new = {"application_credential": {"name": "console", "secret": "hush-9", "access_rules": rules}}
    made = demo.post(place, json=new).json()["application_credential"]
    try:
        sent = {"application_credential": {"id": made["id"], "secret": "hush-9"}}
        session = page.ask("POST", "session", sent).json()["session"]
        assert (session["project"]["name"], session["can_switch"]) == ("demo", False)
        assert session["access_rules"] == [{"method": "GET", "path": "/v1/leases"}]
        assert page.ask("GET", "v1/leases").status_code == 200
        assert page.ask("POST", "v1/leases", BODY).status_code == 403
        assert page.ask("DELETE", "session").status_code == 204
    finally:
        demo.delete(f"{place}/{made['id']}")


def test_a_token_that_a_person_has_is_exchanged_and_left_alone(cloud: RunningCloud, page: Page) -> None:
    auth = v3.Password(
        cloud.auth_url,
        username="demo",
        password=cloud.password,
        user_domain_name="Default",
        project_name="demo",
        project_domain_name="Default",
    )
    token = str(sessions.Session(auth).get_token())
    session = page.ask("POST", "session", {"token": {"token": token}}).json()["session"]
    assert (session["project"]["name"], session["can_switch"]) == ("demo", True)
    assert page.ask("GET", "v1/leases").status_code == 200
    assert page.ask("DELETE", "session").status_code == 204
    assert is_valid(cloud, token)
