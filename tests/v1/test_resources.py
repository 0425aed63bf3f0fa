"""Contract resources: the cloud objects of each reservation type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.ports import Flavor
from leasehold.cloud.sandbox import seed
from tests.factory import flavors, floating_ips
from tests.v1.world import HOST, INSTANCE

if TYPE_CHECKING:
    from tests.v1.world import World


def test_resources_2_the_aggregate_of_a_host_reservation(cloud_world: World) -> None:
    """It is named after the reservation, has its zone and owner, holds the service host while the lease is active.

    The statuses of the reservation are pending, active and deleted, as clients and tempest compare them.
    """
    # The aggregate holds the service host's name, which differs from the hypervisor's.
    cloud_world.enrol("cmp-03.example")
    lease = cloud_world.lease(HOST, start_date=cloud_world.date(minutes=5), end_date=cloud_world.date(minutes=10))
    name = lease["reservations"][0]["id"]

    def after(minutes: int) -> tuple[str, set[str]]:
        cloud_world.wait(minutes=minutes)
        return cloud_world.show(lease)["reservations"][0]["status"], set(cloud_world.hosts_of("freepool"))

    assert after(minutes=4) == ("pending", {"cmp-03"})
    assert after(minutes=2) == ("active", set())
    aggregate = cloud_world.cloud.aggregates.get(name)
    assert aggregate is not None
    assert (aggregate.zone, aggregate.metadata["blazar:owner"]) == (f"blazar_{name}", "demo")
    assert aggregate.hosts == {"cmp-03"}
    assert after(minutes=5) == ("deleted", {"cmp-03"})
    assert cloud_world.cloud.aggregates.get(name) is None


def test_resources_4_the_source_flavor_is_captured_as_text(cloud_world: World) -> None:
    """`resource_properties` of a flavor reservation is the source flavor as JSON text; its sizes are shown.

    The command line sends flavor_id=3 as a number (http-api §10.1); the service reads it as the flavor "3".
    """
    cloud_world.enrol("cmp-01")
    cloud_world.cloud.flavors.ensure(Flavor("3", "three", vcpus=2, memory_mb=512, disk_gb=5, public=True))
    (shown,) = cloud_world.lease(flavors(flavor_id=3, affinity="None"))["reservations"]
    assert json.loads(shown["resource_properties"])["name"] == "three"
    assert (shown["vcpus"], shown["memory_mb"], shown["disk_gb"]) == (2, 512, 5)
    assert (shown["affinity"], shown["server_group_id"]) == (None, None)


def test_resources_5_floating_ips_come_with_tags_and_go(cloud_world: World) -> None:
    """The addresses are created in the project at the start, tagged `blazar` and `reservation:R`, and removed."""
    cloud_world.enrol_addresses(3)
    wanted = seed.SUGGESTED_FLOATING_IPS[2]
    lease = cloud_world.lease(floating_ips(2, required_floatingips=[wanted]), end_date=cloud_world.date(minutes=5))
    tag = f"reservation:{lease['reservations'][0]['id']}"
    cloud_world.wait(seconds=1)
    there = cloud_world.cloud.networks.list_floating_ips(tag)
    assert len(there) == 2
    assert wanted in {each.address for each in there}
    assert all(each.project_id == "demo" and each.tags == {"blazar", tag} for each in there)
    cloud_world.wait(minutes=6)
    assert cloud_world.cloud.networks.list_floating_ips(tag) == []


@pytest.mark.parametrize(
    ("expression", "hosts"),
    [
        ('["==", "$gpu_model", "A100"]', {"gpu-01.example"}),
        ('["=", "$gpu_model", "A100"]', {"gpu-01.example"}),
        ('[">=", "$vcpus", "100"]', {"cmp-09"}),
        ('["and", ["==", "$rack", "b2"], [">", "$vcpus", "64"]]', {"cmp-09"}),
        ('["and", ["==", "$rack", "b2"], ["and", ["<", "$vcpus", "64"], ["!=", "$gpu_count", "8"]]]', {"gpu-03"}),
        ('["and", ["==", "$hypervisor_hostname", "cmp-06"]]', {"cmp-06"}),
    ],
)
@pytest.mark.parametrize("field", ["hypervisor_properties", "resource_properties"])
def test_resources_0_1_expressions(full: World, field: str, expression: str, hosts: set[str]) -> None:
    """Both fields take the same expressions; all parts of a nested `and` count."""
    names = {host["id"]: host["hypervisor_hostname"] for host in full.get("/os-hosts")["hosts"]}
    full.lease({**HOST, "max": 12, field: expression})
    allocations = full.get("/os-hosts/allocations")["allocations"]
    assert {names[each["resource_id"]] for each in allocations if each["reservations"]} == hosts


@pytest.mark.parametrize("asked", [INSTANCE, flavors()], ids=["instance", "flavor"])
def test_nova_filter_needs_the_flavor_of_a_reservation(cloud_world: World, asked: dict[str, Any]) -> None:
    """The flavor's extra specs tie it to the aggregate and to one unit of the reservation's own resource class.

    It is private, and the owner's project may use it while the lease is active. The reservation leads to both.
    """
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(asked, start_date=cloud_world.date(minutes=5))
    ident = lease["reservations"][0]["id"]

    def projects() -> frozenset[str]:
        flavor = cloud_world.cloud.flavors.get(ident)
        assert flavor is not None
        assert not flavor.public
        return flavor.projects

    cloud_world.wait(minutes=1)
    assert projects() == frozenset()
    cloud_world.wait(minutes=5)
    assert projects() == {"demo"}
    flavor, aggregate = cloud_world.cloud.flavors.get(ident), cloud_world.cloud.aggregates.get(ident)
    assert flavor is not None
    assert aggregate is not None
    resource_class = f"CUSTOM_RESERVATION_{ident.upper().replace('-', '_')}"
    assert flavor.name == f"reservation:{ident}"
    assert flavor.extra_specs["aggregate_instance_extra_specs:reservation"] == ident
    assert flavor.extra_specs[f"resources:{resource_class}"] == "1"
    assert (aggregate.zone, aggregate.metadata["reservation"]) == (None, ident)
    inventory = cloud_world.cloud.providers.inventories("blazar_cmp-01")[resource_class]
    assert (inventory.total, inventory.max_unit) == (1, 1)
    (shown,) = cloud_world.show(lease)["reservations"]
    assert (shown["flavor_id"], shown["aggregate_id"]) == (ident, aggregate.id)
    assert "server_group_id" in shown
