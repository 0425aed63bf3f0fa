"""Puts the cloud back after a test that failed, so that it breaks none of those that come after it.

A test that passes gives everything back by itself; if it does not, that is a fault to be found, and nothing hides it.
"""

from __future__ import annotations

import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import requests

from tests.openstack.leftovers import differences, listing
from tests.openstack.person import GONE_WITHIN, LEASE_WITHIN, Person
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from openstack.connection import Connection

    from tests.openstack.cloud import RunningCloud
    from tests.openstack.leftovers import Listing

_TRAITS_SINCE = "1.6"
_CLASSES_SINCE = "1.7"
_DELETES: Mapping[str, Callable[[Connection, str], object]] = {
    "floating IP": lambda sdk, address: sdk.network.delete_ip(next(sdk.network.ips(floating_ip_address=address))),
    "port": lambda sdk, ident: sdk.network.delete_port(ident),
    "server group": lambda sdk, ident: sdk.compute.delete_server_group(ident),
    "flavor": lambda sdk, ident: sdk.compute.delete_flavor(ident),
    "resource class": lambda sdk, name: sdk.placement.delete(f"/resource_classes/{name}", microversion=_CLASSES_SINCE),
    "trait": lambda sdk, name: sdk.placement.delete(f"/traits/{name}", microversion=_TRAITS_SINCE),
}
"""How things of a listing are deleted that nothing else is made of, in this order."""


def sweep(cloud: RunningCloud, began: datetime) -> None:
    """Delete what a test has left that began then: servers, the leases of the Leasehold that still runs, and hosts.

    Nova and Leasehold give whole seconds, so what is of the second in which the test began counts as older: fixtures of
    its file may have made it.
    """
    admin = Person(cloud, "admin")
    _delete_servers(admin.sdk, lambda server: _moment(server.created_at) > began)
    endpoint = cloud.endpoint("reservation")
    if endpoint is None or not _answers(endpoint):
        return
    for lease in admin.blazar.lease.list():
        admin.blazar.lease.delete(lease["id"])
    wait_for(lambda: not admin.blazar.lease.list(), within=LEASE_WITHIN)
    for host in admin.blazar.host.list():
        if _moment(host["created_at"]) > began:
            admin.blazar.host.delete(host["id"])


def restore(cloud: RunningCloud, before: Listing) -> list[str]:
    """Make Nova, Placement and Neutron as they were in a listing; returns what still differs, one sentence each.

    A part that fails is one of the sentences, so that the tests which do not need it run all the same.
    """
    admin = Person(cloud, "admin")
    parts: list[Callable[[], None]] = [
        lambda: _restore_services(cloud, admin),
        lambda: _delete_servers(admin.sdk, lambda server: f"server {server.id}" not in before),
        lambda: _restore_aggregates(admin.sdk, before),
        lambda: _restore_providers(admin.sdk, before),
        lambda: _delete_the_rest(admin.sdk, before),
    ]
    return [*_failures(parts), *differences(before, listing(admin.sdk))]


def _failures(parts: Sequence[Callable[[], None]]) -> Iterator[str]:
    """Run all parts; yield a sentence for each that fails."""
    for part in parts:
        try:
            part()
        except Exception:  # noqa: BLE001 - whatever it is, the other parts can still be put right, and it is reported.
            yield f"a part of the cloud, which could not be put right: {traceback.format_exc()}"


def _restore_services(cloud: RunningCloud, admin: Person) -> None:
    for name in cloud.services():
        if not cloud.is_alive(name):
            cloud.start_service(name)
    for host in cloud.computes:
        admin.set_compute(host, status="enabled", forced_down=False)


def _delete_the_rest(sdk: Connection, before: Listing) -> None:
    left = listing(sdk).keys() - before.keys()
    for kind, delete in _DELETES.items():
        for thing in left:
            if thing.startswith(f"{kind} "):
                delete(sdk, thing.removeprefix(f"{kind} "))


def _delete_servers(sdk: Connection, which: Callable[[Any], bool]) -> None:
    """Delete servers. Nova loses a request while a part of it starts, so the request is repeated."""

    def are_gone() -> bool:
        left = [server for server in sdk.compute.servers(all_projects=True) if which(server)]
        for server in left:
            if server.task_state is None:
                sdk.compute.delete_server(server)
        return not left

    wait_for(are_gone, within=GONE_WITHIN)


def _restore_aggregates(sdk: Connection, before: Listing) -> None:
    """First out of all that are too many, because a host is in one zone only."""
    missing: list[tuple[Any, str]] = []
    for aggregate in list(sdk.compute.aggregates()):
        had: Any = before.get(f"aggregate {aggregate.name}", {"members": [], "metadata": {}})
        for host in set(aggregate.hosts) - set(had["members"]):
            sdk.compute.remove_host_from_aggregate(aggregate, host)
        missing += [(aggregate, host) for host in set(had["members"]) - set(aggregate.hosts)]
        if f"aggregate {aggregate.name}" not in before:
            sdk.compute.delete_aggregate(aggregate)
        elif aggregate.metadata != had["metadata"]:
            sdk.compute.set_aggregate_metadata(aggregate, {**dict.fromkeys(aggregate.metadata), **had["metadata"]})
    for aggregate, host in missing:
        sdk.compute.add_host_to_aggregate(aggregate, host)


def _restore_providers(sdk: Connection, before: Listing) -> None:
    """Give back what Placement counts for nobody's server, then make each provider have what it had."""
    now = listing(sdk)
    # A provider's name is longer than that of the one that it is within, and Placement deletes it first.
    for thing in sorted((each for each in now if each.startswith("resource provider ")), key=len, reverse=True):
        if now[thing] == before.get(thing):
            continue
        place = f"/resource_providers/{now[thing]['id']}"
        for consumer in sdk.placement.get(f"{place}/allocations").json()["allocations"]:
            if f"server {consumer}" not in before:
                sdk.placement.delete(f"/allocations/{consumer}")
        if thing not in before:
            sdk.placement.delete(place)
            continue
        for what in ("inventories", "traits"):
            generation = sdk.placement.get(place).json()["generation"]
            body = {"resource_provider_generation": generation, what: before[thing][what]}
            sdk.placement.put(f"{place}/{what}", json=body, microversion=_TRAITS_SINCE)


def _answers(endpoint: str) -> bool:
    try:
        return requests.get(f"{endpoint.removesuffix('/v1')}/healthcheck", timeout=10).ok
    except requests.ConnectionError:
        return False


def _moment(date: str) -> datetime:
    found = datetime.fromisoformat(date)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
