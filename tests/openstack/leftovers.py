"""Finds leftovers in the cloud: lists what leases create and change there, and compares two listings.

before = listing(admin)
...
assert differences(before, listing(admin)) == []
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openstack.connection import Connection

Listing = dict[str, dict[str, object]]
"""Resources by name, such as "aggregate freepool", each with its attributes."""

_TRAITS_SINCE = "1.6"
_FLAVORS = "/flavors/detail?is_public=None"
_EXTRA_SPECS_SINCE = "2.61"
_ACCESS = "/flavors/{}/os-flavor-access"


def listing(admin: Connection) -> Listing:
    """List what leases can create or change in Nova, Placement and Neutron, of every project.

    The listing leaves out generations and times: they change with every access, and need no clean-up.
    """
    return dict([*_nova(admin), *_placement(admin), *_neutron(admin)])


def differences(before: Listing, after: Listing) -> list[str]:
    """Return the differences, one sentence each; an empty list when there are none."""
    return [
        *(f"{thing} is gone." for thing in before if thing not in after),
        *(f"{thing} is left over: {_words(facts)}." for thing, facts in after.items() if thing not in before),
        *(
            f"{thing} has other {fact}: {facts.get(fact)!r} before, {after[thing].get(fact)!r} now."
            for thing, facts in before.items()
            if thing in after
            for fact in sorted(facts.keys() | after[thing].keys())
            if facts.get(fact) != after[thing].get(fact)
        ),
    ]


def _words(facts: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in facts.items())


def _nova(admin: Connection) -> Iterator[tuple[str, dict[str, object]]]:
    for aggregate in admin.compute.aggregates():
        yield f"aggregate {aggregate.name}", {"members": sorted(aggregate.hosts), "metadata": aggregate.metadata}
    # One call for all with their extra specs: of one that goes meanwhile they could not be asked for.
    for flavor in admin.compute.get(_FLAVORS, microversion=_EXTRA_SPECS_SINCE).json()["flavors"]:
        public = flavor["os-flavor-access:is_public"]
        access = ["everybody"] if public else _projects_with_access(admin, flavor["id"])
        if access is None:
            continue
        yield (
            f"flavor {flavor['id']}",
            {
                "name": flavor["name"],
                "size": (flavor["vcpus"], flavor["ram"], flavor["disk"], flavor["OS-FLV-EXT-DATA:ephemeral"]),
                "extra specs": flavor["extra_specs"],
                "access": access,
            },
        )
    for server in admin.compute.servers(all_projects=True):
        yield f"server {server.id}", {"name": server.name, "status": server.status, "project": server.project_id}
    for group in admin.compute.server_groups(all_projects=True):
        yield f"server group {group.id}", {"name": group.name}


def _projects_with_access(admin: Connection, flavor_id: str) -> list[str] | None:
    answer = _json(admin.compute.get(_ACCESS.format(flavor_id)))
    return None if answer is None else sorted(access["tenant_id"] for access in answer["flavor_access"])


def _placement(admin: Connection) -> Iterator[tuple[str, dict[str, object]]]:
    names: dict[str, str] = {provider.id: provider.name for provider in admin.placement.resource_providers()}
    for provider_id, name in names.items():
        facts = _provider(admin, provider_id)
        if facts is not None:
            yield f"resource provider {name}", facts
    for resource_class in admin.placement.resource_classes():
        yield f"resource class {resource_class.name}", {}
    for trait in admin.placement.traits():
        yield f"trait {trait.name}", {}


def _provider(admin: Connection, provider_id: str) -> dict[str, object] | None:
    inventories, usages, traits = (
        _json(admin.placement.get(f"/resource_providers/{provider_id}/{what}", microversion=_TRAITS_SINCE))
        for what in ("inventories", "usages", "traits")
    )
    if inventories is None or usages is None or traits is None:
        return None
    return {
        "id": provider_id,
        "inventories": inventories["inventories"],
        # Placement lists a usage of 0 as long as the class has an inventory.
        "usages": {name: used for name, used in usages["usages"].items() if used},
        "traits": sorted(traits["traits"]),
    }


def _neutron(admin: Connection) -> Iterator[tuple[str, dict[str, object]]]:
    for address in admin.network.ips():
        yield (
            f"floating IP {address.floating_ip_address}",
            {"project": address.project_id, "port": address.port_id, "tags": sorted(address.tags)},
        )
    for port in admin.network.ports():
        yield f"port {port.id}", {"owner": port.device_owner, "device": port.device_id, "project": port.project_id}


def _json(response: Any) -> Any:
    """Return the body of an answer, or None for a resource that has gone since it was listed."""
    if response.status_code == HTTPStatus.NOT_FOUND:
        return None
    response.raise_for_status()
    return response.json()
