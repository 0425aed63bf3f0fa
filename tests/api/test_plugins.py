"""Leases whose resource type is switched off or whose plugin is not installed can be shown and deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.cmd.web import make_app
from leasehold.db.tables import reservations
from leasehold.resource_types.registry import load_types
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client


DATES = {"start_date": "2031-05-01 10:00", "end_date": "2031-05-01 12:00"}
LEASE = {"name": "n", **DATES, "reservations": [hosts()]}


@pytest.fixture
def lease(client: Client, host: str) -> dict[str, Any]:
    """Return a host lease that was created while hosts were switched on."""
    assert host
    made: dict[str, Any] = client.ask("POST", "/v1/leases", LEASE).json["lease"]
    return made


@pytest.fixture
def after(client: Client, lease: dict[str, Any], service: Service, settings: ApiSettings) -> Client:
    """Return a client of an API that was restarted with hosts switched off."""
    assert lease["status"] == "PENDING"
    bare = replace(service, types=load_types(["virtual:floatingip"]))
    return replace(client, web=LocalClient(make_app(bare, settings)))


def test_a_lease_of_a_type_that_is_switched_off_is_like_any_other(after: Client, lease: dict[str, Any]) -> None:
    path = f"/v1/leases/{lease['id']}"
    assert after.ask("GET", "/v1/leases").json == {"leases": [lease]}
    assert after.ask("PUT", path, {"end_date": "2031-05-01 13:00"}).status_code == 200
    refused = after.ask("POST", "/v1/leases", {**LEASE, "name": "other"})
    assert (refused.status_code, refused.json["field"]) == (400, "reservations[0].resource_type")
    assert "is switched off; use one of virtual:floatingip." in refused.json["error_message"]
    assert after.ask("DELETE", path).status_code == 204
    assert after.ask("GET", path).status_code == 404


def test_a_lease_whose_plugin_is_not_installed_can_be_seen_renamed_and_deleted(
    after: Client, lease: dict[str, Any], service: Service
) -> None:
    gone = update(reservations).values(resource_type="site:gone")
    service.db.transact(lambda connection: connection.execute(gone))
    path = f"/v1/leases/{lease['id']}"
    assert after.ask("GET", path).json["lease"]["reservations"][0]["resource_type"] == "site:gone"
    assert after.ask("PUT", path, {"name": "renamed"}).json["lease"]["name"] == "renamed"
    part = {"id": lease["reservations"][0]["id"], "min": 1, "max": 2}
    refused = after.ask("PUT", path, {"reservations": [part]})
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.resource.no_plugin")
    assert refused.json["error_message"].startswith("The plugin of the resource type 'site:gone' is not installed")
    assert after.ask("DELETE", path).status_code == 204
    assert after.ask("GET", path).status_code == 404
