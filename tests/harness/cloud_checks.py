"""Compares the sandbox cloud with the database, by brute force on plain rows; meaningful only when no work is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.cloud.sandbox import seed
from tests.harness.database_checks import RUNNING, SLOTS
from tests.harness.said import said_by
from tests.harness.tables import is_dropped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.cloud.ports import Server
    from tests.harness.tables import Row, Tables


def cloud_problems(tables: Tables) -> list[str]:
    """Return a sentence for each kind of difference between the cloud and the database."""
    state = CloudState.of(tables)
    unfinished = {
        part.id
        for lease in tables.leases()
        if lease.status not in (*RUNNING, "TERMINATED")
        for part in tables.parts(lease)
    }
    moving = [lease for lease in tables.leases() if lease.status in ("STARTING", "TERMINATING", "DELETING")]
    found = [f"the cloud cannot be compared while leases are in motion: {moving}"] if moving else []
    for check in (_check_aggregates, _check_flavors, _check_addresses):
        found += said_by(check, tables, state, unfinished)
    return found


@dataclass(frozen=True, slots=True)
class CloudState:
    """The state of the cloud, by name."""

    members: Mapping[str, set[str]]
    flavors: Mapping[str, set[str]]
    classes: set[str]
    inventories: Mapping[tuple[str, str], int]
    addresses: Mapping[str, str]

    @classmethod
    def of(cls, tables: Tables) -> CloudState:
        members: dict[str, set[str]] = {row.name: set() for row in tables["sandbox_aggregates"]}
        names = {row.id: row.name for row in tables["sandbox_aggregates"]}
        for row in tables["sandbox_aggregate_hosts"]:
            members[names[row.aggregate_id]].add(row.service_host)
        flavors: dict[str, set[str]] = {row.id: set() for row in tables["sandbox_flavors"]}
        for row in tables["sandbox_flavor_access"]:
            flavors[row.flavor_id].add(row.project_id)
        providers = {row.id: row.name for row in tables["sandbox_providers"]}
        tags = {row.floating_ip_id: row.tag for row in tables["sandbox_floating_ip_tags"] if row.tag != "blazar"}
        return cls(
            members,
            flavors,
            {row.name for row in tables["sandbox_resource_classes"]},
            {(providers[row.provider_id], row.resource_class): row.total for row in tables["sandbox_inventories"]},
            {row.address: tags.get(row.id, "") for row in tables["sandbox_floating_ips"]},
        )


def _wanted(tables: Tables, kinds: Sequence[str], statuses: Sequence[str]) -> dict[str, tuple[Row, Row]]:
    return {
        part.id: (lease, part)
        for lease in tables.leases()
        if lease.status in statuses
        for part in tables.parts(lease)
        if part.resource_type in kinds and not is_dropped(part)
    }


def _enrolled(tables: Tables) -> dict[str, str]:
    """Return the hypervisor names of the enrolled hosts, by service name."""
    return {
        row.attributes["service_name"]: row.attributes["hypervisor_hostname"]
        for row in tables["resources"]
        if row.type == "physical:host" and row.deleted_at is None
    }


def _pooled(tables: Tables) -> set[str]:
    """Return the service names of the enrolled hosts that are in the reservation pool."""
    return {
        row.attributes["service_name"]
        for row in tables["resources"]
        if row.type == "physical:host" and row.deleted_at is None and row.membership in (None, "reservation")
    }


def _service_hosts(tables: Tables, lease: Row, part: Row) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in tables.live(lease, part):
        found[tables.resource(row.resource_number).attributes["service_name"]] += row.slots
    return found


def _check_aggregates(tables: Tables, state: CloudState, unfinished: set[str]) -> None:
    """A host is in the free pool or in its active reservation's aggregate, and no other aggregates exist."""
    expected = _wanted(tables, ("physical:host", *SLOTS), ("PENDING", "ACTIVE"))
    named = {seed.FREEPOOL, *expected}
    assert set(state.members) - unfinished == named, f"aggregates are wrong: {set(state.members) ^ named}"
    leased: set[str] = set()
    for name, (lease, part) in expected.items():
        held = set(_service_hosts(tables, lease, part)) if lease.status == "ACTIVE" else set()
        if part.resource_type == "physical:host":
            # A failed host stays in the aggregate until its servers are gone, so no other reservation gets it.
            held |= tables.left(part)
            leased |= held
        assert state.members[name] == held, f"aggregate {name} has {state.members[name]} and not {held}: {lease}"
    whole = {part.id for part in tables["reservations"] if part.resource_type == "physical:host"}
    quarantined = {host for name in unfinished & whole for host in state.members.get(name, ())}
    free, wanted = state.members[seed.FREEPOOL] - quarantined, _pooled(tables) - leased - quarantined
    assert free == wanted, f"the free pool has {free} and not {wanted}"


def _check_flavors(tables: Tables, state: CloudState, unfinished: set[str]) -> None:
    """Flavors, resource classes and inventories exist for exactly the reservations that need them."""
    expected = _wanted(tables, SLOTS, ("PENDING", "ACTIVE"))
    named = {flavor.id for flavor in seed.FLAVORS} | set(expected)
    assert set(state.flavors) - unfinished == named, f"flavors are wrong: {set(state.flavors) ^ named}"
    names = {f"CUSTOM_RESERVATION_{name.replace('-', '_').upper()}": name for name in (*expected, *unfinished)}
    reserved = {names.get(name, name) for name in state.classes if name.startswith("CUSTOM_RESERVATION_")}
    assert reserved - unfinished == set(expected), f"resource classes are wrong: {reserved ^ set(expected)}"
    inventories: dict[str, dict[str, int]] = defaultdict(dict)
    for (provider, name), total in state.inventories.items():
        if name.startswith("CUSTOM_RESERVATION_"):
            inventories[names[name]][provider] = total
    hostname = _enrolled(tables)
    for name, (lease, part) in expected.items():
        active = lease.status == "ACTIVE"
        access = {lease.project_id} if active else set()
        assert state.flavors[name] == access, f"flavor {name} is open to {state.flavors[name]}: {lease}"
        held = _service_hosts(tables, lease, part) if active else {}
        # Placement keeps the inventory of a failed host while servers there still use it.
        left = {f"blazar_{hostname[host]}" for host in tables.left(part)}
        offered = {provider: slots for provider, slots in inventories[name].items() if provider not in left}
        wanted = {f"blazar_{hostname[host]}": slots for host, slots in held.items()}
        assert offered == wanted, f"class {name} is offered as {offered} and not as {wanted}: {lease}"


def _check_addresses(tables: Tables, state: CloudState, unfinished: set[str]) -> None:
    """The addresses of active reservations exist in the cloud, and no other addresses."""
    expected = {
        tables.resource(row.resource_number).attributes["floating_ip_address"]: f"reservation:{part.id}"
        for lease, part in _wanted(tables, ("virtual:floatingip",), ("ACTIVE",)).values()
        for row in tables.live(lease, part)
    }
    present = {
        address: tag for address, tag in state.addresses.items() if tag.removeprefix("reservation:") not in unfinished
    }
    assert present == expected, f"addresses are {present} and not {expected}"


def misplaced_servers(tables: Tables, servers: Sequence[Server], running: Mapping[str, str]) -> Iterator[str]:
    """Return a sentence for each server that outlived its lease, and for each that is gone before its end.

    A server's name is its reservation's id. `running` maps the ids of the servers that their users booted and did not
    delete to their reservations. `servers` is the cloud's answer, because its tables keep a removed server for a while.
    """
    leases = {row.id: row for row in tables["leases"]}
    of = {part.id: leases[part.lease_id] for part in tables["reservations"]}
    addresses = {part.id for part in tables["reservations"] if part.resource_type == "virtual:floatingip"}
    for each in servers:
        lease = of.get(each.name)
        over = lease is not None and (lease.deleted_at is not None or lease.status == "TERMINATED")
        if lease and over and each.service_host is not None and each.name not in addresses:
            yield f"server {each.id} on {each.service_host} is {each.status}, and lease {lease.id} is {lease.status}"
    there = {each.id for each in servers}
    for ident, part in sorted(running.items()):
        if ident not in there and part in of and of[part].deleted_at is None and of[part].status == "ACTIVE":
            yield f"server {ident} is gone, and lease {of[part].id} is ACTIVE"
