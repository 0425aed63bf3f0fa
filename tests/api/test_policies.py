"""Contract http-api §9: every rule, for every role, inside and outside the owning project."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.api.app import make_app
from leasehold.api.policies.enforcer import Policies, get_enforcer, list_rules
from leasehold.conf import ConfigurationError
from leasehold.conf.settings import PolicySettings
from leasehold.model.caller import Caller
from leasehold.model.errors import ForbiddenError
from tests.api.conftest import Client
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

OWNER = Caller("owner", "p1")
BODY = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}

READERS = ("blazar:leases:get", "blazar:floatingips:get")
MEMBERS = ("blazar:leases:post", "blazar:leases:put", "blazar:leases:delete")
ADMINS = (
    "blazar:oshosts:get",
    "blazar:oshosts:post",
    "blazar:oshosts:put",
    "blazar:oshosts:delete",
    "blazar:oshosts:get_allocations",
    "blazar:oshosts:get_resource_properties",
    "blazar:oshosts:update_resource_properties",
    "blazar:floatingips:post",
    "blazar:floatingips:delete",
)


@pytest.fixture(scope="module")
def policies() -> Policies:
    return Policies(PolicySettings())


def caller(*roles: str, project: str = "p1") -> Caller:
    return Caller("somebody", project, frozenset(roles))


@pytest.mark.parametrize("rule", [*READERS, *MEMBERS, *ADMINS])
@pytest.mark.parametrize("project", ["p1", "p2"])
def test_9_defaults(policies: Policies, rule: str, project: str) -> None:
    inside = project == "p1"
    assert policies.allows(rule, caller("admin", project=project), OWNER)
    assert policies.allows(rule, caller("reader", project=project), OWNER) == (inside and rule in READERS)
    assert policies.allows(rule, caller("member", project=project), OWNER) == (inside and rule in MEMBERS)
    assert not policies.allows(rule, caller("other", project=project), OWNER)
    assert not policies.allows(rule, caller(project=project), OWNER)


def test_9_an_unknown_rule_lets_nobody(policies: Policies) -> None:
    assert not policies.allows("blazar:nonsense:get", caller("admin"), OWNER)


def test_9_the_403_names_the_rule(policies: Policies) -> None:
    with pytest.raises(ForbiddenError, match="blazar:oshosts:get ") as caught:
        policies.require("blazar:oshosts:get", caller("member"), OWNER)
    assert caught.value.details == {"rule": "blazar:oshosts:get"}


def test_9_the_deprecated_defaults_count_when_asked_for() -> None:
    old = Policies(PolicySettings(new_defaults=False))
    assert old.allows("blazar:leases:delete", caller(), OWNER)
    assert not old.allows("blazar:leases:delete", caller(project="p2"), OWNER)
    assert not old.allows("blazar:oshosts:get", caller(), OWNER)


def test_9_an_operators_file_overrides(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        '"blazar:oshosts:get": "role:reader"\n"blazar:leases:get": "user_id:%(user_id)s"\n', encoding="utf-8"
    )
    policies = Policies(PolicySettings(file=str(path)))
    assert policies.allows("blazar:oshosts:get", caller("reader"), OWNER)
    assert not policies.allows("blazar:oshosts:post", caller("reader"), OWNER)
    assert policies.allows("blazar:leases:get", Caller("owner", "p2"), OWNER)
    assert not policies.allows("blazar:leases:get", caller("reader"), OWNER)


@pytest.mark.parametrize(
    ("check", "allowed"),
    [
        ("user_domain_id:here and project_domain_id:there", True),
        ("user_domain_id:there", False),
        ("is_admin_project:True", False),
        ("service_roles:service", True),
        ("service_roles:Service or service_roles:admin", False),
        ("service_user_id:nova and service_project_id:service", True),
        ("system_scope:all or domain_id:here or is_admin:True", False),
    ],
)
def test_9_what_an_operators_rule_may_ask_about(tmp_path: Path, check: str, *, allowed: bool) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f'"blazar:leases:get": "{check}"\n', encoding="utf-8")
    policies = Policies(PolicySettings(file=str(path)))
    service = Caller("nova", "service", frozenset({"service"}))
    asks = Caller("u", "p", frozenset(), "here", "there", is_admin_project=False, service=service)
    assert policies.allows("blazar:leases:get", asks, OWNER) == allowed


def test_9_the_rules_are_there_for_the_tools_of_oslo_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leasehold.conf").write_text("", encoding="utf-8")
    (tmp_path / "policy.yaml").write_text('"admin": "role:boss"\n', encoding="utf-8")
    rules = {rule.name: rule for rule in list_rules()}
    assert {*READERS, *MEMBERS, *ADMINS, "admin", "admin_or_owner"} < set(rules)
    assert all(rules[name].scope_types == ["project"] for name in (*READERS, *MEMBERS, *ADMINS))
    assert get_enforcer().enforce("blazar:oshosts:get", {}, {"roles": ["boss"]})
    assert not get_enforcer().enforce("blazar:oshosts:get", {}, {"roles": ["admin"]})


@pytest.mark.parametrize(
    "text", ['"blazar:leases:get": "rule:nonsense"', '"blazar:leases:get": "rule:blazar:leases:get"', "]["]
)
def test_9_an_operators_file_that_makes_no_sense_ends_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"policy\.yaml"):
        Policies(PolicySettings(file=str(path)))


def test_5_2_another_projects_lease_is_403_that_names_get(client: Client) -> None:
    lease_id = client.ask("POST", "/v1/leases", BODY).json["lease"]["id"]
    stranger = client.but(project="other")
    for method, body in (("GET", None), ("PUT", {"name": "mine"}), ("DELETE", None)):
        answer = stranger.ask(method, f"/v1/leases/{lease_id}", body)
        assert answer.status_code == 403
        assert "blazar:leases:get" in answer.json["error_message"]
    assert client.ask("GET", f"/v1/leases/{lease_id}").json["lease"]["name"] == "n"


def test_5_2_put_and_delete_are_checked_against_the_owner(
    service: Service, settings: ApiSettings, tmp_path: Path
) -> None:
    """Relaxing `leases:get` must not let everyone amend: upstream checks `put` against the caller's own project."""
    path = tmp_path / "policy.yaml"
    path.write_text('"blazar:leases:get": "@"\n', encoding="utf-8")
    relaxed = replace(settings, policy=PolicySettings(file=str(path)))
    owner = Client(LocalClient(make_app(service, relaxed)))
    lease = f"/v1/leases/{owner.ask('POST', '/v1/leases', BODY).json['lease']['id']}"
    stranger = owner.but(project="other")
    assert stranger.ask("GET", lease).status_code == 200
    assert "blazar:leases:put" in stranger.ask("PUT", lease, {"name": "mine"}).json["error_message"]
    assert "blazar:leases:delete" in stranger.ask("DELETE", lease).json["error_message"]
    assert owner.ask("DELETE", lease).status_code == 204


def test_5_2_readers_read_and_do_not_write(client: Client) -> None:
    lease_id = client.ask("POST", "/v1/leases", BODY).json["lease"]["id"]
    reader = client.but(user="bob", roles="reader")
    assert reader.ask("GET", f"/v1/leases/{lease_id}").status_code == 200
    for method, path, body in (
        ("POST", "/v1/leases", BODY),
        ("PUT", f"/v1/leases/{lease_id}", {"name": "x"}),
        ("DELETE", f"/v1/leases/{lease_id}", None),
    ):
        answer = reader.ask(method, path, body)
        assert answer.status_code == 403
        assert f"blazar:leases:{method.lower()}" in answer.json["error_message"]


def test_5_2_list_scope(client: Client, admin: Client) -> None:
    client.ask("POST", "/v1/leases", BODY)
    client.but(project="other").ask("POST", "/v1/leases", BODY)
    assert [lease["project_id"] for lease in client.ask("GET", "/v1/leases").json["leases"]] == ["demo"]
    assert len(admin.but(project="third").ask("GET", "/v1/leases").json["leases"]) == 2
    assert client.but(project="third").ask("GET", "/v1/leases").json["leases"] == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/os-hosts"),
        ("POST", "/v1/os-hosts"),
        ("GET", "/v1/os-hosts/1"),
        ("PUT", "/v1/os-hosts/1"),
        ("DELETE", "/v1/os-hosts/1"),
        ("GET", "/v1/os-hosts/allocations"),
        ("GET", "/v1/os-hosts/1/allocation"),
        ("GET", "/v1/os-hosts/properties"),
        ("PATCH", "/v1/os-hosts/properties/rack"),
        ("POST", "/v1/floatingips"),
        ("DELETE", "/v1/floatingips/1"),
    ],
)
def test_6_7_what_only_administrators_do(client: Client, method: str, path: str) -> None:
    """The 403 precedes all other checks, so it reveals neither whether the resource exists nor if the body is valid."""
    answer = client.ask(method, path, content=b"nonsense")
    assert answer.status_code == 403
    assert answer.json["error_code"] == 403
