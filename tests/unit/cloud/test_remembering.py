"""What OpenStack is asked once is not asked again a moment later, unless it does not know it any longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.openstack.aggregates import OpenStackAggregates
from leasehold.cloud.openstack.flavors import OpenStackFlavors
from leasehold.cloud.openstack.placement import OpenStackProviders
from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Inventory

if TYPE_CHECKING:
    from leasehold.cloud.openstack.rest import ServiceClient
    from tests.unit.cloud.scripted import Script

GONE = (404, {"itemNotFound": {"message": "Aggregate 7 could not be found."}})
AT_7 = ("POST", "/os-aggregates/7/action")
AT_8 = ("POST", "/os-aggregates/8/action")
LIST = ("GET", "/os-aggregates")
SMALL = Inventory(total=2, max_unit=1)
WRITTEN = (200, {"resource_provider_generation": 4})
OTHERS = (409, {"errors": [{"code": "placement.concurrent_update", "detail": "another generation"}]})
TAKEN = (409, {"conflictingRequest": {"message": "it is there"}})


def aggregate(number: int, *hosts: str, **metadata: str) -> dict[str, Any]:
    return {"id": number, "name": "r", "availability_zone": None, "metadata": metadata, "hosts": list(hosts)}


def listed(*rows: dict[str, Any]) -> tuple[int, Any]:
    return 200, {"aggregates": list(rows)}


def asked(script: Script) -> list[tuple[str, str]]:
    """Return what was asked since the last look."""
    found = [(method, path.partition("?")[0]) for method, path, _ in script.asked]
    script.asked.clear()
    return found


def test_a_host_joins_and_leaves_an_aggregate_that_was_just_listed_by_one_call(
    nova: ServiceClient, script: Script
) -> None:
    aggregates = OpenStackAggregates(nova)
    script.answers = [listed(), (200, {"aggregate": {"id": 7}}), (200, {"aggregate": aggregate(7, a="b")})]
    made = aggregates.ensure("r", None, {"a": "b"})
    assert (made.id, made.name, made.metadata, made.hosts) == (7, "r", {"a": "b"}, frozenset())
    assert asked(script) == [LIST, ("POST", "/os-aggregates"), AT_7]
    aggregates.add_host("r", "cmp-01")
    aggregates.remove_host("r", "cmp-01")
    assert asked(script) == [AT_7, AT_7]


def test_an_aggregate_that_was_made_again_is_looked_for(nova: ServiceClient, script: Script) -> None:
    aggregates = OpenStackAggregates(nova)
    script.answers = [listed(aggregate(7))]
    assert aggregates.get("r")
    script.answers = [GONE, listed(aggregate(8)), (200, {"aggregate": aggregate(8, "cmp-01")})]
    aggregates.add_host("r", "cmp-01")
    assert asked(script) == [LIST, AT_7, LIST, AT_8]
    script.answers = [(404, {}), listed(aggregate(9, "cmp-01")), (200, {"aggregate": aggregate(9)})]
    aggregates.remove_host("r", "cmp-01")
    assert asked(script) == [AT_8, LIST, ("POST", "/os-aggregates/9/action")]


@pytest.mark.parametrize("member", [True, False])
def test_a_host_that_cannot_join_is_looked_for_among_the_members(
    nova: ServiceClient, script: Script, *, member: bool
) -> None:
    aggregates = OpenStackAggregates(nova)
    script.answers = [listed(aggregate(7))]
    aggregates.list()
    script.answers = [TAKEN, listed(aggregate(7, *(["cmp-01"] if member else [])))]
    if member:
        aggregates.add_host("r", "cmp-01")
    else:
        with pytest.raises(CloudTransientError, match="cmp-01 cannot join r now"):
            aggregates.add_host("r", "cmp-01")
    assert asked(script) == [LIST, AT_7, LIST]


def provider(name: str, number: int, parent: int | None = None) -> tuple[int, Any]:
    ids = [None if each is None else f"00000000-0000-0000-0000-{each:012}" for each in (number, parent)]
    return 200, {"resource_providers": [{"name": name, "uuid": ids[0], "parent_provider_uuid": ids[1]}]}


def inventories(**there: int) -> tuple[int, Any]:
    plain = Inventory(total=1, max_unit=1)
    rows = {
        name: {**{field: getattr(plain, field) for field in Inventory.__dataclass_fields__}, "total": total}
        for name, total in there.items()
    }
    return 200, {"inventories": rows, "resource_provider_generation": 3}


def test_a_provider_that_was_just_seen_is_not_looked_for(nova: ServiceClient, script: Script) -> None:
    providers = OpenStackProviders(nova)
    script.answers = [provider("host", 1), provider("child", 2, 1)]
    providers.ensure_child("host", "child")
    script.answers = [inventories(), WRITTEN]
    providers.set_inventory("child", "CUSTOM_A", Inventory(total=2, max_unit=1))
    providers.ensure_child("host", "child")
    assert [path.partition("/inventories")[0][-4:] for _, path in asked(script)] == ["ders", "ders", "0002", "0002"]


def test_what_was_written_to_a_provider_is_not_read_again(nova: ServiceClient, script: Script) -> None:
    """Another inventory is one call; the same one is looked at, because somebody may have removed it."""
    providers = OpenStackProviders(nova)
    script.answers = [provider("child", 2), inventories(), WRITTEN, (200, {"resource_provider_generation": 5})]
    providers.set_inventory("child", "CUSTOM_A", SMALL)
    providers.set_inventory("child", "CUSTOM_B", SMALL)
    assert [method for method, _ in asked(script)] == ["GET", "GET", "POST", "POST"]
    script.answers = [inventories(CUSTOM_B=2), (200, {"resource_provider_generation": 6})]
    providers.set_inventory("child", "CUSTOM_A", SMALL)
    assert [method for method, _ in asked(script)] == ["GET", "POST"]


def test_of_a_provider_to_which_somebody_else_has_written_everything_is_read_again(
    nova: ServiceClient, script: Script
) -> None:
    providers = OpenStackProviders(nova)
    script.answers = [provider("child", 2), inventories(), WRITTEN]
    providers.set_inventory("child", "CUSTOM_A", SMALL)
    script.answers = [OTHERS, inventories(CUSTOM_A=2, CUSTOM_B=9), (200, {"resource_provider_generation": 8})]
    asked(script)
    providers.set_inventory("child", "CUSTOM_B", SMALL)
    assert [method for method, _ in asked(script)] == ["POST", "GET", "PUT"]


def test_a_provider_that_is_no_more_is_looked_for_by_the_next_attempt(nova: ServiceClient, script: Script) -> None:
    providers = OpenStackProviders(nova)
    script.answers = [provider("host", 1), provider("child", 2, 1)]
    providers.ensure_child("host", "child")
    script.answers = [(404, {})]
    with pytest.raises(CloudTransientError, match="there is no provider child any longer"):
        providers.set_inventory("child", "CUSTOM_A", Inventory(total=2, max_unit=1))
    script.answers = [provider("child", 5, 1), inventories(CUSTOM_A=2)]
    providers.set_inventory("child", "CUSTOM_A", Inventory(total=2, max_unit=1))
    assert asked(script)[-1][1].endswith("0005/inventories")


@pytest.mark.parametrize("public", [True, False])
def test_access_to_a_flavor_is_granted_by_one_call(nova: ServiceClient, script: Script, *, public: bool) -> None:
    flavors = OpenStackFlavors(nova)
    script.answers = [(200, {"flavor_access": []})]
    flavors.grant("f", "demo")
    assert asked(script) == [("POST", "/flavors/f/action")]
    size = {"vcpus": 1, "ram": 1, "disk": 0, "OS-FLV-EXT-DATA:ephemeral": 0, "swap": ""}
    row = {"id": "f", "name": "f", **size, "extra_specs": {}, "os-flavor-access:is_public": public}
    script.answers = [TAKEN, (200, {"flavor": row})]
    if public:
        with pytest.raises(CloudPermanentError, match="flavor f is public"):
            flavors.grant("f", "demo")
    else:
        flavors.grant("f", "demo")
