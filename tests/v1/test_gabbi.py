"""Contract clients §1.2: tempest's API tests as HTTP sequences, against a service without other data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.v1.world import World

LEASE = {"name": "l", "start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}


def test_clients_1_2_leases_gabbi(cloud_world: World) -> None:
    """A lease without reservations is granted, listed as the only one, deleted with 204, and gone from the list."""
    assert cloud_world.ask("POST", "/leases", LEASE).status_code == 201
    leases = cloud_world.get("/leases")["leases"]
    assert len(leases) == 1
    assert cloud_world.ask("DELETE", f"/leases/{leases[0]['id']}").status_code == 204
    assert cloud_world.get("/leases")["leases"] == []


def test_clients_1_2_allocations_gabbi(cloud_world: World) -> None:
    """Two leases at different hours are allocated to one host; `lease_id` filters the reservations, not the hosts."""
    host = cloud_world.ask("POST", "/os-hosts", {"name": "cmp-01"}).json["host"]["id"]
    asked = {"resource_type": "physical:host", "min": 1, "max": 1}
    asked |= {"hypervisor_properties": "[]", "resource_properties": "[]"}
    ids = []
    for hour in (10, 12):
        dates = {"start_date": f"2050-01-01 {hour}:00", "end_date": f"2050-01-01 {hour + 1}:00"}
        answer = cloud_world.ask("POST", "/leases", {"name": f"l{hour}", **dates, "reservations": [asked]})
        assert answer.status_code == 201, answer.text
        ids.append(answer.json["lease"]["id"])
    allocations = cloud_world.get("/os-hosts/allocations")["allocations"]
    assert [len(each["reservations"]) for each in allocations] == [2]
    narrowed = cloud_world.get("/os-hosts/allocations", params={"lease_id": ids[0]})["allocations"]
    assert len(narrowed) == 1
    assert [each["lease_id"] for each in narrowed[0]["reservations"]] == [ids[0]]
    for ident in ids:
        assert cloud_world.ask("DELETE", f"/leases/{ident}").status_code == 204
    assert cloud_world.ask("DELETE", f"/os-hosts/{host}").status_code == 204
