"""Feature I1 by the API: the owner of a resource, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.factory import hosts

if TYPE_CHECKING:
    from tests.api.conftest import Client

BODY = {"name": "secret", "start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00", "reservations": [hosts()]}


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(project="staff", version="1.3")


@pytest.fixture
def owner(client: Client) -> Client:
    return client.but(version="1.3")


@pytest.fixture
def tenant(owner: Client) -> Client:
    return owner.but(user="bob", project="alt")


def owned(client: Client, query: str = "") -> Any:
    answer = client.ask("GET", "/v1/owned-resources", query_string=query)
    assert answer.status_code == 200, answer.text
    return answer.json["owned_resources"]


def test_an_owner_is_set_and_shown(operator: Client, owner: Client, host: str) -> None:
    for path, one, body in (
        (f"/v1/os-hosts/{host}", "host", {"owner": "demo"}),
        (f"/v1/resources/physical:host/{host}", "resource", {"owner": "demo", "projects": ["alt"]}),
    ):
        shown = operator.ask("PUT", path, body).json[one]
        assert (shown["owner"], shown["projects"]) == ("demo", sorted({"demo", *body.get("projects", [])}))
        assert "owner" not in operator.but(version="1.2").ask("GET", f"/v1/os-hosts/{host}").json["host"]
        assert owner.ask("PUT", path, {"owner": "alt"}).status_code == 403
    back = operator.ask("PUT", f"/v1/os-hosts/{host}", {"owner": None, "projects": None}).json["host"]
    assert (back["owner"], back["projects"], back["rack"]) == (None, None, "a1")
    made = operator.ask("POST", "/v1/os-hosts", {"name": "cmp-02", "owner": "demo"}).json["host"]
    assert (made["owner"], made["projects"]) == ("demo", ["demo"])


def test_an_owner_sees_and_ends_leases_and_learns_no_names(
    operator: Client, owner: Client, tenant: Client, host: str
) -> None:
    operator.ask("PUT", f"/v1/os-hosts/{host}", {"owner": "demo", "projects": ["alt"]})
    lease = tenant.ask("POST", "/v1/leases", BODY).json["lease"]
    (found,) = owned(owner)
    assert found["leases"] == [
        {
            "id": lease["id"],
            "project_id": "alt",
            "start_date": "2031-05-02T10:00:00+00:00",
            "end_date": "2031-05-02T12:00:00+00:00",
            "status": "PENDING",
        }
    ]
    assert "secret" not in owner.ask("GET", "/v1/owned-resources").text
    assert (found["id"], found["name"], found["owner"]) == (host, "cmp-01", "demo")
    assert owned(tenant) == owned(operator) == owned(owner, "name=cmp-02") == []
    assert owned(operator, "all_projects=true") == owned(owner, "health=healthy") == [found]
    assert owner.ask("GET", "/v1/owned-resources", query_string="all_projects=true").status_code == 403
    path = f"/v1/leases/{lease['id']}"
    for method in ("GET", "PUT", "DELETE"):
        assert owner.ask(method, path, {} if method == "PUT" else None).status_code == 403
    assert tenant.ask("DELETE", f"/v1/owned-leases/{lease['id']}").status_code == 404
    assert owner.but(roles="reader").ask("DELETE", f"/v1/owned-leases/{lease['id']}").status_code == 403
    assert owner.ask("DELETE", f"/v1/owned-leases/{lease['id']}").status_code == 204
    assert tenant.ask("GET", path).status_code == 404
    assert owned(owner)[0]["leases"] == []


def test_an_owner_changes_nothing_about_the_resource(operator: Client, owner: Client, host: str) -> None:
    operator.ask("PUT", f"/v1/os-hosts/{host}", {"owner": "demo"})
    for path in (f"/v1/os-hosts/{host}", f"/v1/resources/physical:host/{host}"):
        for method, body in (("GET", None), ("PUT", {"owner": "demo"}), ("DELETE", None)):
            assert owner.ask(method, path, body).status_code == 403
