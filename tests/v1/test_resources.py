"""Contract resources: the cloud objects of each reservation type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox import seed
from tests.v1.world import HOST, INSTANCE

if TYPE_CHECKING:
    from tests.v1.world import World


def test_resources_2_aggregate_named_after_reservation(cloud_world: World) -> None:
    """The aggregate is named after the reservation, holds the service host while active, and is deleted afterwards."""
    # The aggregate holds the service host's name, which differs from the hypervisor's.
    cloud_world.enrol("cmp-03.example")
    lease = cloud_world.lease(HOST, start_date=cloud_world.date(minutes=5), end_date=cloud_world.date(minutes=10))
    name = lease["reservations"][0]["id"]
    cloud_world.wait(minutes=4)
    assert cloud_world.hosts_of("freepool") == {"cmp-03"}
    cloud_world.wait(minutes=2)
    assert cloud_world.hosts_of(name) == {"cmp-03"}
    assert cloud_world.hosts_of("freepool") == frozenset()
    cloud_world.wait(minutes=5)
    assert cloud_world.cloud.aggregates.get(name) is None
    assert cloud_world.hosts_of("freepool") == {"cmp-03"}


def test_resources_2_users_reach_their_hosts_by_hint(full: World) -> None:
    """The hint `reservation=R` gives access to the hosts to the owner's project only."""
    lease = full.lease(HOST)
    full.wait(seconds=1)
    name = lease["reservations"][0]["id"]
    assert full.boot("m1.small", name).service_host in full.hosts_of(name)
    assert full.boot("m1.small", name, project="alt").status == "ERROR"
    assert full.boot("m1.small").status == "ERROR"


@pytest.mark.parametrize(("affinity", "spread"), [(True, 1), (False, 3), (None, None)])
def test_resources_3_boot_contract(full: World, affinity: bool | None, spread: int | None) -> None:  # noqa: FBT001
    """`amount` servers with flavor R boot, one more is ERROR, an ordinary one is ERROR, and the delete removes all."""
    lease = full.lease({**INSTANCE, "amount": 3, "affinity": affinity})
    full.wait(seconds=1)
    flavor = lease["reservations"][0]["id"]
    servers = [full.boot(flavor) for _ in range(3)]
    assert [each.status for each in servers] == ["ACTIVE"] * 3
    if spread is not None:
        assert len({each.service_host for each in servers}) == spread
    assert full.boot(flavor).status == "ERROR"
    assert full.boot("m1.small").status == "ERROR"
    full.ask("DELETE", f"/leases/{lease['id']}")
    full.wait(seconds=30)
    assert not any(full.cloud.servers.find(each.id) for each in servers)


def test_resources_3_the_answer_leads_to_the_flavor(cloud_world: World) -> None:
    """`flavor_id` is the reservation's id, `aggregate_id` is the aggregate's, and `server_group_id` is present."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(INSTANCE)
    cloud_world.wait(seconds=1)
    (shown,) = cloud_world.show(lease)["reservations"]
    aggregate = cloud_world.cloud.aggregates.get(shown["id"])
    assert aggregate is not None
    assert (shown["flavor_id"], shown["aggregate_id"]) == (shown["id"], aggregate.id)
    assert "server_group_id" in shown


def test_resources_3_a_private_flavor_is_for_the_project_alone(cloud_world: World) -> None:
    """The flavor R is private; only the owner's project may use it, while the lease is active."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(INSTANCE, start_date=cloud_world.date(minutes=5))
    cloud_world.wait(minutes=1)
    ident = lease["reservations"][0]["id"]
    prepared = cloud_world.cloud.flavors.get(ident)
    assert prepared is not None
    assert (prepared.public, prepared.projects) == (False, frozenset())
    cloud_world.wait(minutes=5)
    active = cloud_world.cloud.flavors.get(ident)
    assert active is not None
    assert active.projects == {"demo"}


def test_resources_4_the_source_flavor_is_captured_as_text(cloud_world: World) -> None:
    """`resource_properties` of a flavor reservation is the source flavor as JSON text; its sizes are shown."""
    cloud_world.enrol("cmp-01")
    asked = {"resource_type": "flavor:instance", "flavor_id": "m1.medium", "amount": 1, "affinity": None}
    (shown,) = cloud_world.lease(asked)["reservations"]
    source = json.loads(shown["resource_properties"])
    assert source["name"] == "m1.medium"
    assert (shown["vcpus"], shown["memory_mb"], shown["disk_gb"]) == (2, 4096, 40)
    assert (shown["affinity"], shown["server_group_id"]) == (None, None)


def test_resources_5_floating_ips_come_with_tags_and_go(cloud_world: World) -> None:
    """The addresses are created in the project at the start, tagged `blazar` and `reservation:R`, and removed."""
    for address in seed.SUGGESTED_FLOATING_IPS[:3]:
        sent = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": address}
        assert cloud_world.ask("POST", "/floatingips", sent).status_code == 201
    wanted = seed.SUGGESTED_FLOATING_IPS[2]
    asked = {"resource_type": "virtual:floatingip", "network_id": seed.NETWORK_ID, "amount": 2}
    lease = cloud_world.lease({**asked, "required_floatingips": [wanted]}, end_date=cloud_world.date(minutes=5))
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


def test_nova_filter_needs_the_aggregate_of_a_host_reservation(cloud_world: World) -> None:
    """Name: the reservation's id; availability zone: begins with `blazar_`; metadata `blazar:owner`: the project."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(HOST)
    cloud_world.wait(seconds=1)
    ident = lease["reservations"][0]["id"]
    aggregate = cloud_world.cloud.aggregates.get(ident)
    assert aggregate is not None
    assert aggregate.zone == f"blazar_{ident}"
    assert aggregate.metadata["blazar:owner"] == "demo"
    assert aggregate.hosts == {"cmp-01"}


def test_nova_filter_needs_the_free_pool(full: World) -> None:
    """`freepool` holds every registered host that is not leased exclusively; shared hosts stay in it."""
    everybody = full.hosts_of("freepool")
    taken = full.lease(HOST)
    shared = full.lease({**INSTANCE, "amount": 4, "affinity": None})
    full.wait(seconds=1)
    exclusive = full.hosts_of(taken["reservations"][0]["id"])
    assert full.hosts_of("freepool") == everybody - exclusive
    assert full.hosts_of(shared["reservations"][0]["id"]) <= full.hosts_of("freepool")


@pytest.mark.parametrize(
    "asked",
    [INSTANCE, {"resource_type": "flavor:instance", "flavor_id": "m1.small", "amount": 1, "affinity": None}],
    ids=["instance", "flavor"],
)
def test_nova_filter_needs_the_flavor_of_a_reservation(cloud_world: World, asked: dict[str, Any]) -> None:
    """The flavor's extra specs tie it to the aggregate and to one unit of the reservation's own resource class."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(asked)
    cloud_world.wait(seconds=1)
    ident = lease["reservations"][0]["id"]
    flavor = cloud_world.cloud.flavors.get(ident)
    assert flavor is not None
    resource_class = f"CUSTOM_RESERVATION_{ident.upper().replace('-', '_')}"
    assert flavor.name == f"reservation:{ident}"
    assert flavor.extra_specs["aggregate_instance_extra_specs:reservation"] == ident
    assert flavor.extra_specs[f"resources:{resource_class}"] == "1"
    assert not flavor.public
    assert flavor.projects == {"demo"}
    aggregate = cloud_world.cloud.aggregates.get(ident)
    assert aggregate is not None
    assert aggregate.zone is None
    assert aggregate.metadata["reservation"] == ident
    inventory = cloud_world.cloud.providers.inventories("blazar_cmp-01")[resource_class]
    assert (inventory.total, inventory.max_unit) == (1, 1)
