"""Authentication by Keystone tokens: accepted and refused tokens, and the resulting caller."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from oslo_context.context import get_current

from tests.api.keystone.conftest import ask, authenticator, identify

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.keystone.conftest import Configured
    from tests.api.keystone.server import Keystone

BODY = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}


def test_a_token_says_who_calls(web: testing.TestClient, keystone: Keystone) -> None:
    token = keystone.issue("t1", "member", "reader")
    lease = web.simulate_post("/v1/leases", json=BODY, headers={"X-Auth-Token": token}).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("user-of-t1", "demo")
    assert ask(web, token, f"/v1/leases/{lease['id']}").status_code == 200
    stranger = ask(web, keystone.issue("t2", "member", "reader", project="alt"), f"/v1/leases/{lease['id']}")
    assert stranger.status_code == 403
    assert "blazar:leases:get" in stranger.json["error_message"]


def test_only_administrators_enrol_hosts(web: testing.TestClient, keystone: Keystone) -> None:
    """A project member is authenticated and then refused by the policy."""
    for role, status in (("admin", 201), ("member", 403)):
        token = keystone.issue(f"of-{role}", role)
        answer = web.simulate_post("/v1/os-hosts", json={"name": "cmp-01"}, headers={"X-Auth-Token": token})
        assert answer.status_code == status


def test_the_log_says_who_called(web: testing.TestClient, keystone: Keystone) -> None:
    """As in every OpenStack service, user, project and their domains follow the request id."""

    def logged(token: str | None) -> object:
        ask(web, token)
        context = get_current()
        assert context is not None
        return context.to_dict()["user_identity"]

    assert logged(keystone.issue("t", "member", "reader")) == "user-of-t demo - default default"
    assert logged(None) == "- - - - -"


@pytest.mark.parametrize("token", [None, "", "unknown", "\xfc", "a b", "x" * 100_000])
def test_401_tells_where_to_get_a_token(web: testing.TestClient, keystone: Keystone, token: str | None) -> None:
    answer = ask(web, token)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == f'Keystone uri="{keystone.url}"'
    assert answer.headers["x-openstack-request-id"].startswith("req-")
    assert answer.json["error"]["title"] == "Unauthorized"
    assert "Keystone" in answer.json["error_message"]


@pytest.mark.parametrize("kind", ["text/plain; charset=\xff", "text/plain; charset=nonsense", ";", "\xff"])
def test_nothing_but_the_token_counts(web: testing.TestClient, keystone: Keystone, kind: str) -> None:
    token = keystone.issue("t", "member", "reader")
    assert ask(web, token, Content_Type=kind, Host="\xff", Authorization="nonsense").status_code == 200
    assert ask(web, f" {token} ").status_code == 200


def test_an_expired_token_is_401(web: testing.TestClient, keystone: Keystone) -> None:
    assert ask(web, keystone.issue("old", "member", lasting=timedelta(seconds=-1))).status_code == 401


def test_what_is_public_needs_no_token_and_asks_nobody(web: testing.TestClient, keystone: Keystone) -> None:
    keystone.failing = 503
    assert [ask(web, None, path).status_code for path in ("/healthcheck", "/v1/openapi.json")] == [200, 200]
    assert [ask(web, None, path).status_code for path in ("/", "/versions", "/nonsense")] == [401, 401, 401]
    assert ask(web, None, "/v1/openapi.json").json["components"]["securitySchemes"]["token"]["name"] == "X-Auth-Token"


FORGED = {
    "X_Identity_Status": "Confirmed",
    "X_User_Id": "root",
    "X_Project_Id": "other",
    "X_Roles": "admin",
    "X_Is_Admin_Project": "True",
    "X_User_Domain_Id": "forged",
    "X_Project_Domain_Id": "forged",
    "X_Domain_Id": "forged",
    "OpenStack_System_Scope": "all",
    "X_Service_Identity_Status": "Confirmed",
    "X_Service_User_Id": "root",
    "X_Service_Project_Id": "service",
    "X_Service_Roles": "service",
}


def test_identity_headers_of_a_client_are_never_believed(
    web: testing.TestClient, configured: Configured, keystone: Keystone
) -> None:
    assert ask(web, None, **FORGED).status_code == 401
    assert ask(web, "unknown", **FORGED).status_code == 401
    token = keystone.issue("t", "member", is_admin_project=False)
    assert ask(web, token, "/v1/os-hosts", **FORGED).status_code == 403
    authentication = authenticator(configured())
    honest = identify(authentication, X_Auth_Token=token)
    assert identify(authentication, X_Auth_Token=token, **FORGED) == honest
    assert (honest.user_id, honest.project_id, set(honest.roles)) == ("user-of-t", "demo", {"member"})
    assert (honest.user_domain_id, honest.project_domain_id) == ("default", "default")
    assert (honest.is_admin_project, honest.service) == (False, None)


@pytest.mark.parametrize(
    ("scope", "word"),
    [
        ({"domain": {"id": "d", "name": "d"}}, "for a domain"),
        ({"system": {"all": True}}, "for the whole system"),
        ({}, "not for a project"),
    ],
)
def test_a_token_without_a_project_is_403_that_says_so(
    web: testing.TestClient, keystone: Keystone, scope: dict[str, Any], word: str
) -> None:
    token = keystone.issue("t", "admin", "member", project=None, **scope)
    answer = ask(web, token, "/v1/os-hosts", X_Project_Id="demo", X_Roles="admin")
    assert answer.status_code == 403
    assert word in answer.json["error_message"]
    assert "OS_PROJECT_NAME" in answer.json["error_message"]
