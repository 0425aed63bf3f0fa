"""Authentication by Keystone tokens: which are accepted, the resulting caller, scopes, services and access rules."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from oslo_context.context import get_current

from leasehold.cmd.web import ROUTES
from tests.api.keystone.conftest import ask, authenticator, identify

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.keystone.conftest import Configured
    from tests.api.keystone.server import Keystone

pytestmark = pytest.mark.slow

BODY = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}
RULES = [{"id": "1", "service": "reservation", "method": "GET", "path": "/v1/leases"}]
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


@pytest.fixture
def issued(keystone: Keystone) -> Keystone:
    """Return a Keystone with tokens of several kinds."""
    keystone.issue("member", "member", "reader")
    keystone.issue("admin", "admin")
    keystone.issue("stranger", "member", "reader", project="alt")
    keystone.issue("expired", "member", "reader", lasting=timedelta(seconds=-1))
    keystone.issue("service", "service", project="service")
    keystone.issue("ruled", "member", "reader", application_credential={"id": "a", "access_rules": RULES})
    return keystone


@pytest.mark.parametrize(
    ("token", "path", "headers", "status"),
    [
        ("member", "/v1/leases", {}, 200),
        (" member ", "/v1/leases", {}, 200),
        # Nothing but the token counts.
        *(
            ("member", "/v1/leases", {"Content_Type": kind, "Host": "\xff", "Authorization": "nonsense"}, 200)
            for kind in ("text/plain; charset=\xff", "text/plain; charset=nonsense", ";", "\xff")
        ),
        *((token, "/v1/leases", {}, 401) for token in (None, "", "unknown", "\xfc", "a b", "x" * 100_000, "expired")),
        *((token, "/v1/leases", FORGED, 401) for token in (None, "unknown")),
        ("member", "/v1/os-hosts", FORGED, 403),
        # A service may finish what a token that has expired since then began.
        ("expired", "/v1/leases", {"X_Service_Token": "service"}, 200),
        *(("member", "/v1/leases", {"X_Service_Token": token}, 401) for token in ("stranger", "unknown", "\xfc")),
        ("ruled", "/v1/leases", {}, 200),
        *(("ruled", path, {}, 401) for path in ("/v1/floatingips", "/v1/%ff")),
    ],
    ids=lambda value: str(value)[:40],
)
def test_which_tokens_are_accepted_and_where_to_get_one(
    web: testing.TestClient, issued: Keystone, token: str | None, path: str, headers: dict[str, str], status: int
) -> None:
    answer = ask(web, token, path, **headers)
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["WWW-Authenticate"] == f'Keystone uri="{issued.url}"'
        assert answer.headers["x-openstack-request-id"].startswith("req-")
        assert answer.json["error"]["title"] == "Unauthorized"
        expected = "X-Service-Token" if headers.get("X_Service_Token", "\xfc") != "\xfc" else "Keystone"
        assert expected in answer.json["error_message"] or path == "/v1/%ff"


def test_a_token_says_who_calls(web: testing.TestClient, issued: Keystone) -> None:
    assert issued.url
    lease = web.simulate_post("/v1/leases", json=BODY, headers={"X-Auth-Token": "member"}).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("user-of-member", "demo")
    path = f"/v1/leases/{lease['id']}"
    assert [ask(web, token, path).status_code for token in ("member", "stranger")] == [200, 403]
    for token, status in (("admin", 201), ("member", 403)):
        answer = web.simulate_post("/v1/os-hosts", json={"name": "cmp-01"}, headers={"X-Auth-Token": token})
        assert answer.status_code == status


def test_the_log_says_who_called(web: testing.TestClient, issued: Keystone) -> None:
    """As in every OpenStack service, user, project and their domains follow the request id."""
    assert issued.url
    for token, logged in (("member", "user-of-member demo - default default"), (None, "- - - - -")):
        ask(web, token)
        context = get_current()
        assert context is not None
        assert context.to_dict()["user_identity"] == logged


def test_what_is_public_needs_no_token_and_asks_nobody(web: testing.TestClient, keystone: Keystone) -> None:
    keystone.failing = 503
    assert [ask(web, None, path).status_code for path in ("/healthcheck", "/v1/openapi.json")] == [200, 200]
    assert [ask(web, None, path).status_code for path in ("/", "/versions", "/nonsense")] == [401, 401, 401]
    assert ask(web, None, "/v1/openapi.json").json["components"]["securitySchemes"]["token"]["name"] == "X-Auth-Token"


def test_the_policies_know_the_user_and_the_service_by_their_tokens(configured: Configured, keystone: Keystone) -> None:
    """The policies never believe the identity headers of a client."""
    authentication = authenticator(configured())
    user = keystone.issue("user", "member", is_admin_project=False)
    service = keystone.issue("nova", "service", "Observer", project="service")
    honest = identify(authentication, X_Auth_Token=user)
    assert identify(authentication, X_Auth_Token=user, **FORGED) == honest
    assert (honest.user_id, honest.project_id, set(honest.roles)) == ("user-of-user", "demo", {"member"})
    assert (honest.user_domain_id, honest.project_domain_id) == ("default", "default")
    assert (honest.is_admin_project, honest.service) == (False, None)
    caller = identify(authentication, X_Auth_Token=user, X_Service_Token=service)
    assert caller.user_id == "user-of-user"
    assert caller.service is not None
    assert (caller.service.user_id, caller.service.project_id) == ("user-of-nova", "service")
    assert caller.service.roles == {"service", "Observer"}


SCOPES: dict[str, tuple[dict[str, Any], str]] = {
    "system": ({"system": {"all": True}}, "for the whole system"),
    "domain": ({"domain": {"id": "default", "name": "Default"}}, "for a domain"),
    "unscoped": ({}, "not for a project"),
}


@pytest.mark.parametrize("roles", [("admin", "member", "reader"), ("service",), ()])
@pytest.mark.parametrize("scope", SCOPES)
def test_no_route_is_for_a_token_without_a_project(
    web: testing.TestClient, keystone: Keystone, scope: str, roles: tuple[str, ...]
) -> None:
    """Leases belong to projects. `test_policy_matrix` covers tokens with a project."""
    document, words = SCOPES[scope]
    token = keystone.issue("t", *roles, project=None, **document)
    headers = {"X-Auth-Token": token, "X-Project-Id": "demo", "X-Roles": "admin"}
    for route in ROUTES:
        path = route.path.format_map(defaultdict(lambda: "x"))
        answer = web.simulate_request(route.method, path, headers=headers)
        if route.public:
            # The secret in its address is all that a calendar feed asks for, and this one is none.
            assert answer.status_code == (404 if "{token}" in route.path else 200), route.path
            continue
        assert answer.status_code == 403, route.path
        assert (answer.json["code"], answer.json["details"]) == ("leasehold.auth.forbidden", {"scope": scope})
        assert words in answer.json["error_message"]
        assert "OS_PROJECT_NAME" in answer.json["error_message"]
