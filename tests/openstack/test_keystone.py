"""The strategy `keystone` against a real Keystone, with the real program, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import requests
from keystoneauth1 import session as sessions
from keystoneauth1.exceptions import Unauthorized
from keystoneauth1.identity import v3

from tests.processes import Program, prepare_database, running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.openstack.cloud.running import RunningCloud

BODY = {"name": "of-keystone", "start_date": "2040-01-01 10:00", "end_date": "2040-01-01 12:00"}
DOMAIN = {"user_domain_name": "Default", "project_domain_name": "Default"}


def session(cloud: RunningCloud, user: str, **scope: Any) -> sessions.Session:
    """Return a session of `user` in the project of that name, or in another scope."""
    scope = scope or {"project_name": user, "project_domain_name": "Default"}
    auth = v3.Password(cloud.auth_url, username=user, password=cloud.password, user_domain_name="Default", **scope)
    return sessions.Session(auth)


def token(cloud: RunningCloud, user: str, **scope: Any) -> str:
    return str(session(cloud, user, **scope).get_token())


def credentials(cloud: RunningCloud, **more: object) -> Mapping[str, object]:
    """Return our own section of the configuration, as an operator writes it."""
    own = {"username": "leasehold", "password": cloud.password, "project_name": "service", **DOMAIN}
    return {"auth_type": "password", "auth_url": cloud.auth_url, **own, **more}


def options(cloud: RunningCloud, **more: object) -> Mapping[str, Mapping[str, object]]:
    return {"api": {"auth_strategy": "keystone"}, "keystone_authtoken": credentials(cloud, **more)}


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('books')}/leasehold.db"
    prepare_database(url)
    return url


@pytest.fixture(scope="module")
def api(cloud: RunningCloud, database_url: str) -> Iterator[Program]:
    with running("leasehold-api", database_url=database_url, options=options(cloud)) as api:
        yield api


def ask(api: Program, method: str, path: str, given: str | None, body: object = None, **headers: str) -> Any:
    if given is not None:
        headers["X-Auth-Token"] = given
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return requests.request(method, f"{api.url}{path}", json=body, headers=named, timeout=60)


@pytest.mark.parametrize("given", [None, "", "garbage", "gAAAAABnb3QgYSB0b2tlbg", "x" * 5000])
def test_without_a_good_token_401(cloud: RunningCloud, api: Program, given: str | None) -> None:
    answer = ask(api, "GET", "/leases", given)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == f'Keystone uri="{cloud.auth_url}"'
    assert answer.json()["error"]["code"] == 401


def test_forged_headers_help_nobody(cloud: RunningCloud, api: Program) -> None:
    forged = {"X_Identity_Status": "Confirmed", "X_User_Id": "root", "X_Project_Id": "admin", "X_Roles": "admin"}
    assert ask(api, "GET", "/os-hosts", None, **forged).status_code == 401
    assert ask(api, "GET", "/os-hosts", token(cloud, "demo"), **forged).status_code == 403


def test_members_lease_and_administrators_see_all(cloud: RunningCloud, api: Program) -> None:
    demo, alt, admin = (token(cloud, user) for user in ("demo", "alt", "admin"))
    assert ask(api, "GET", "/leases", demo).status_code == 200
    lease = ask(api, "POST", "/leases", demo, BODY).json()["lease"]
    me = session(cloud, "demo")
    assert (lease["user_id"], lease["project_id"]) == (me.get_user_id(), me.get_project_id())
    path = f"/leases/{lease['id']}"
    assert [ask(api, "GET", path, who).status_code for who in (demo, admin, alt)] == [200, 200, 403]
    assert [ask(api, method, path, alt, {"name": "x"}).status_code for method in ("PUT", "DELETE")] == [403, 403]
    assert ask(api, "GET", "/leases", alt).json()["leases"] == []
    assert lease["id"] in {each["id"] for each in ask(api, "GET", "/leases", admin).json()["leases"]}
    assert ask(api, "DELETE", path, demo).status_code == 204


def test_only_administrators_see_and_enrol_hosts(cloud: RunningCloud, api: Program) -> None:
    assert ask(api, "GET", "/os-hosts", token(cloud, "admin")).status_code == 200
    answer = ask(api, "POST", "/os-hosts", token(cloud, "demo"), {"name": "compute1"})
    assert answer.status_code == 403
    assert "blazar:oshosts:post" in answer.json()["error_message"]


@pytest.mark.parametrize("scope", [{"system_scope": "all"}, {"unscoped": True}])
def test_a_token_without_a_project_403(cloud: RunningCloud, api: Program, scope: dict[str, Any]) -> None:
    answer = ask(api, "GET", "/leases", token(cloud, "admin", **scope))
    assert answer.status_code == 403
    assert "OS_PROJECT_NAME" in answer.json()["error_message"]


def test_a_service_may_pass_a_request_on(cloud: RunningCloud, api: Program) -> None:
    """A service token is accepted because of its role; a plain user's token in its header is refused."""
    demo = token(cloud, "demo")
    service = token(cloud, "leasehold", project_name="service", project_domain_name="Default")
    assert ask(api, "GET", "/leases", demo, X_Service_Token=service).status_code == 200
    assert ask(api, "GET", "/leases", demo, X_Service_Token=token(cloud, "alt")).status_code == 401


def test_a_revoked_token_is_refused_once_it_is_forgotten(cloud: RunningCloud, database_url: str) -> None:
    demo = session(cloud, "demo")
    given = str(demo.get_token())
    with running("leasehold-api", database_url=database_url, options=options(cloud, token_cache_time=1)) as api:
        assert ask(api, "GET", "/leases", given).status_code == 200
        revoked = demo.delete(f"{cloud.auth_url}/auth/tokens", headers={"X-Subject-Token": given})
        assert revoked.status_code == 204
        wait_for(lambda: ask(api, "GET", "/leases", given).status_code == 401)


def test_a_user_that_is_gone_leaves_leases_that_work(cloud: RunningCloud, database_url: str) -> None:
    """No trust binds a lease to its user: other members and administrators can still amend and delete it."""
    admin = session(cloud, "admin")
    users, project = f"{cloud.auth_url}/users", session(cloud, "demo").get_project_id()
    passing = {"name": "passing", "password": cloud.password, "domain_id": "default", "default_project_id": project}
    user = admin.post(users, json={"user": passing}).json()["user"]["id"]
    try:
        roles = admin.get(f"{cloud.auth_url}/roles?name=member").json()["roles"]
        admin.put(f"{cloud.auth_url}/projects/{project}/users/{user}/roles/{roles[0]['id']}")
        theirs = token(cloud, "passing", project_id=project)
        with running("leasehold-api", database_url=database_url, options=options(cloud)) as api:
            lease = ask(api, "POST", "/leases", theirs, BODY).json()["lease"]
    finally:
        admin.delete(f"{users}/{user}")
    with pytest.raises(Unauthorized):
        token(cloud, "passing", project_id=project)
    with running("leasehold-api", database_url=database_url, options=options(cloud)) as api:
        path = f"/leases/{lease['id']}"
        assert ask(api, "GET", path, theirs).status_code == 401
        assert ask(api, "PUT", path, token(cloud, "demo"), {"name": "kept"}).status_code == 200
        assert ask(api, "DELETE", path, token(cloud, "admin")).status_code == 204


def test_while_keystone_is_away_503_and_whom_we_know_is_served(cloud: RunningCloud, database_url: str) -> None:
    known, unknown = token(cloud, "demo"), token(cloud, "alt")
    with running("leasehold-api", database_url=database_url, options=options(cloud)) as api:
        assert ask(api, "GET", "/leases", known).status_code == 200
        cloud.stop_service("keystone")
        try:
            answer = ask(api, "GET", "/leases", unknown)
            assert answer.status_code == 503
            assert answer.json()["code"] == "leasehold.auth.unavailable"
            assert ask(api, "GET", "/leases", known).status_code == 200
            assert ask(api, "GET", "/leases", None).status_code == 401
        finally:
            cloud.start_service("keystone")
        assert ask(api, "GET", "/leases", unknown).status_code == 200
