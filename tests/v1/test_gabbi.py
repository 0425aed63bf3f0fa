"""Contract clients §1.2: tempest's API tests as HTTP sequences, against a service without other data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.factory import hosts

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
    """Two leases at different hours are allocated to one host; a filter narrows the reservations, not the hosts."""
    host = cloud_world.enrol("cmp-01")["id"]
    asked = hosts(hypervisor_properties="[]", resource_properties="[]")
    first, second = (
        cloud_world.lease(asked, start_date=f"2050-01-01 {hour}:00", end_date=f"2050-01-01 {hour + 1}:00")
        for hour in (10, 12)
    )
    for query, listed in (
        ("", [first["id"], second["id"]]),
        (f"lease_id={first['id']}", [first["id"]]),
        (f"reservation_id={first['reservations'][0]['id']}", [first["id"]]),
        ("lease_id=", [first["id"], second["id"]]),
        ("lease_id=other", []),
        ("reservation_id=other&nonsense=1", []),
    ):
        (allocation,) = cloud_world.get("/os-hosts/allocations", query_string=query)["allocations"]
        assert [each["lease_id"] for each in allocation["reservations"]] == listed, query
    for lease in (first, second):
        assert cloud_world.ask("DELETE", f"/leases/{lease['id']}").status_code == 204
    assert cloud_world.ask("DELETE", f"/os-hosts/{host}").status_code == 204
