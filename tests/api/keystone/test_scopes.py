"""Tokens without a project, on every route: leases belong to projects, so every route but the public ones is 403."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.routes import ROUTES

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.api.routes import Route
    from tests.api.keystone.server import Keystone

SCOPES: dict[str, dict[str, Any]] = {
    "system": {"system": {"all": True}},
    "domain": {"domain": {"id": "default", "name": "Default"}},
    "unscoped": {},
}


@pytest.mark.parametrize("roles", [("reader",), ("member", "reader"), ("admin", "member", "reader"), ("service",), ()])
@pytest.mark.parametrize("scope", SCOPES)
def test_no_route_is_for_a_token_without_a_project(
    web: testing.TestClient, keystone: Keystone, scope: str, roles: tuple[str, ...]
) -> None:
    """The roles make no difference. `test_policy_matrix` covers tokens with a project."""
    token = keystone.issue("t", *roles, project=None, **SCOPES[scope])
    for route in ROUTES:
        answer = web.simulate_request(route.method, path_of(route), headers={"X-Auth-Token": token})
        if route.public:
            assert answer.status_code == 200
            continue
        assert answer.status_code == 403, route.path
        assert answer.json["details"] == {"scope": scope}
        assert answer.json["code"] == "leasehold.auth.forbidden"


def path_of(route: Route) -> str:
    return route.path.format(lease_id="l", host_id="h", floatingip_id="f", name="n", resource_type="t", resource_id="r")
