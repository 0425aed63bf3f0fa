"""Contract http-api §7: floating IPs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.seed import NETWORK_ID, SUGGESTED_FLOATING_IPS

if TYPE_CHECKING:
    from tests.api.conftest import Client

ADDRESS = SUGGESTED_FLOATING_IPS[0]
MAKE = {"floating_network_id": NETWORK_ID, "floating_ip_address": ADDRESS}


def test_7_post_list_show_delete(admin: Client, client: Client) -> None:
    answer = admin.ask("POST", "/v1/floatingips", MAKE)
    assert answer.status_code == 201
    made = answer.json["floatingip"]
    assert set(made) == {
        *("id", "floating_network_id", "subnet_id", "floating_ip_address", "reservable", "created_at", "updated_at"),
    }
    assert (made["floating_network_id"], made["floating_ip_address"], made["reservable"]) == (NETWORK_ID, ADDRESS, True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", made["created_at"])
    shown = client.ask("GET", f"/v1/floatingips/{made['id']}").json["floatingip"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", shown["created_at"])
    assert client.ask("GET", "/v1/floatingips").json == {"floatingips": [shown]}
    assert admin.ask("DELETE", f"/v1/floatingips/{made['id']}").status_code == 204
    assert client.ask("GET", f"/v1/floatingips/{made['id']}").status_code == 404
