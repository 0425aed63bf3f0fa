"""Service tokens on forwarded requests, and application credentials with access rules."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.api.keystone.conftest import ask, authenticator, identify

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.keystone.conftest import Configured
    from tests.api.keystone.server import Keystone

RULE = {"id": "1", "service": "reservation"}


def test_a_service_token_is_known_to_the_policies(configured: Configured, keystone: Keystone) -> None:
    authentication = authenticator(configured())
    user = keystone.issue("user", "member")
    service = keystone.issue("nova", "service", "Observer", project="service")
    caller = identify(authentication, X_Auth_Token=user, X_Service_Token=service)
    assert caller.user_id == "user-of-user"
    assert caller.service is not None
    assert (caller.service.user_id, caller.service.project_id) == ("user-of-nova", "service")
    assert caller.service.roles == {"service", "Observer"}


def test_a_service_may_finish_what_a_token_since_expired_began(web: testing.TestClient, keystone: Keystone) -> None:
    old = keystone.issue("old", "member", "reader", lasting=timedelta(seconds=-1))
    service = keystone.issue("nova", "service", project="service")
    assert ask(web, old, X_Service_Token=service).status_code == 200
    assert ask(web, old).status_code == 401


@pytest.mark.parametrize("token", ["plain", "unknown"])
def test_not_every_token_is_that_of_a_service(web: testing.TestClient, keystone: Keystone, token: str) -> None:
    keystone.issue("plain", "member")
    answer = ask(web, keystone.issue("user", "member", "reader"), X_Service_Token=token)
    assert answer.status_code == 401
    assert "X-Service-Token" in answer.json["error_message"]


def test_access_rules_of_application_credentials_count(web: testing.TestClient, keystone: Keystone) -> None:
    rules = [{**RULE, "method": "GET", "path": "/v1/leases"}]
    token = keystone.issue("t", "member", "reader", application_credential={"id": "a", "access_rules": rules})
    assert ask(web, token).status_code == 200
    assert ask(web, token, "/v1/floatingips").status_code == 401
    assert web.simulate_get("/v1/%ff", headers={"X-Auth-Token": token}).status_code == 401
