"""The listing finds what leases leave behind; if it found nothing, all checks for leftovers would pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.openstack.leftovers import differences, listing

if TYPE_CHECKING:
    from openstack.connection import Connection

    from tests.openstack.cloud import RunningCloud

CLASS = "CUSTOM_RESERVATION_TEST_LEFTOVERS"
TRAIT = "CUSTOM_TEST_LEFTOVERS"
NAME = "test-leftovers"


def test_two_listings_of_the_same_cloud_are_alike(cloud: RunningCloud) -> None:
    assert differences(listing(cloud.connection()), listing(cloud.connection())) == []


def test_what_is_made_in_nova_is_seen(cloud: RunningCloud) -> None:
    admin = cloud.connection()
    demo = str(cloud.connection("demo").current_project_id)
    before = listing(admin)
    aggregate = admin.compute.create_aggregate(name=NAME)
    flavor = admin.compute.create_flavor(name=NAME, ram=64, disk=0, vcpus=1, is_public=False)
    try:
        assert differences(before, listing(admin)) == [
            f"aggregate {NAME} is left over: members [], metadata {{}}.",
            f"flavor {flavor.id} is left over: name '{NAME}', size (1, 64, 0, 0), extra specs {{}}, access [].",
        ]
        between = listing(admin)
        admin.compute.flavor_add_tenant_access(flavor, demo)
        admin.compute.set_aggregate_metadata(aggregate, {"blazar:owner": demo})
        assert differences(between, listing(admin)) == [
            f"aggregate {NAME} has other metadata: {{}} before, {{'blazar:owner': '{demo}'}} now.",
            f"flavor {flavor.id} has other access: [] before, ['{demo}'] now.",
        ]
    finally:
        admin.compute.delete_aggregate(aggregate)
        admin.compute.delete_flavor(flavor)
    assert differences(between, listing(admin)) == [f"aggregate {NAME} is gone.", f"flavor {flavor.id} is gone."]


def test_what_is_made_in_placement_is_seen(cloud: RunningCloud) -> None:
    admin = cloud.connection()
    before = listing(admin)
    provider = admin.placement.create_resource_provider(name=NAME)
    try:
        put(admin, f"/resource_classes/{CLASS}")
        put(admin, f"/traits/{TRAIT}")
        inventory = {"resource_provider_generation": 0, "inventories": {CLASS: {"total": 1}}}
        put(admin, f"/resource_providers/{provider.id}/inventories", inventory)
        seen = differences(before, listing(admin))
        assert [sentence.split(" is left over")[0] for sentence in seen] == [
            f"resource provider {NAME}",
            f"resource class {CLASS}",
            f"trait {TRAIT}",
        ]
        assert CLASS in seen[0]
    finally:
        admin.placement.delete_resource_provider(provider)
        for path in (f"/resource_classes/{CLASS}", f"/traits/{TRAIT}"):
            admin.placement.delete(path, microversion="1.7")
    assert differences(before, listing(admin)) == []


def test_what_is_made_in_neutron_is_seen(cloud: RunningCloud) -> None:
    admin = cloud.connection()
    before = listing(admin)
    network = admin.network.find_network("public", ignore_missing=False)
    address = admin.network.create_ip(floating_network_id=network.id)
    try:
        seen = differences(before, listing(admin))
        assert [sentence for sentence in seen if sentence.startswith(f"floating IP {address.floating_ip_address} is")]
    finally:
        admin.network.delete_ip(address)
    assert differences(before, listing(admin)) == []


def put(admin: Connection, path: str, body: dict[str, object] | None = None) -> None:
    answer = admin.placement.put(path, json=body, microversion="1.7")
    assert answer.ok, answer.text
