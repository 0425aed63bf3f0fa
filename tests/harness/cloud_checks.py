"""Compares the sandbox cloud with the database, by brute force on plain rows; meaningful only when no work is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.cloud.sandbox import seed
from leasehold.model.resource import Health
from tests.harness.database_checks import RUNNING, SLOTS, gives_back
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
    for check in (_check_aggregates, _check_flavors, _check_addresses, _check_open):
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
    closed: set[str]

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
            {row.hypervisor_hostname for row in tables["sandbox_hypervisors"] if not row.enabled}
            | {providers[row.provider_id] for row in tables["sandbox_claims"]},
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
    """Return the hypervisor names of the enrolled hosts that the cloud has, by service name."""
    return {
        row.attributes["service_name"]: row.attributes["hypervisor_hostname"]
        for row in tables["resources"]
        if row.type == "physical:host" and row.deleted_at is None and row.health != "planned"
    }


def _pooled(tables: Tables) -> set[str]:
    """Return the service names of the enrolled hosts that are in the reservation pool."""
    return {
        row.attributes["service_name"]
        for row in tables["resources"]
        if row.type == "physical:host"
        and row.deleted_at is None
        and row.health != "planned"
        and row.membership in (None, "reservation")
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
        others = {project for project, may in part.cloud.get("shares", {}).items() if may}
        access = {lease.project_id, *others} if active else set()
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


def _check_open(tables: Tables, state: CloudState, unfinished: set[str]) -> None:
    """No host is closed to servers, or claimed, but where a reservation's start or end is not complete.

    And those that sleep, or have failed to wake up: they stay closed until they are up again.
    """
    kept = {row.resource_number for row in tables["allocations"] if row.reservation_id in unfinished}
    kept |= {row.resource_number for row in tables["sleeps"] if row.outcome == "failed" and row.ready_at is None}
    hosts = {row.attributes["hypervisor_hostname"]: row for row in tables["resources"] if row.type == "physical:host"}
    awake = {name for name, row in hosts.items() if row.health != Health.ASLEEP}
    closed = sorted(name for name in state.closed & awake if hosts[name].number not in kept)
    assert not closed, f"hosts are still closed: {closed}"


def misplaced_servers(tables: Tables, servers: Sequence[Server], running: Mapping[str, str]) -> Iterator[str]:
    """Return a sentence for each server that outlived its lease, and for each that is gone before its end.

    A server's name is its reservation's id. `running` maps the ids of the servers that their users booted and did not
    delete to their reservations, or to what else they are called without a lease. `servers` is the cloud's answer,
    because its tables keep a removed server for a while. Servers that were given back with their host live on.
    """
    leases = {row.id: row for row in tables["leases"]}
    of = {part.id: leases[part.lease_id] for part in tables["reservations"]}
    addresses = {part.id for part in tables["reservations"] if part.resource_type == "virtual:floatingip"}
    given, pooled = _given_back(tables), _pooled(tables)
    for each in servers:
        lease = of.get(each.name)
        over = lease is not None and (lease.deleted_at is not None or lease.status == "TERMINATED")
        if lease and over and each.service_host is not None and each.name not in addresses:
            said = f"server {each.id} on {each.service_host} is {each.status}, and lease {lease.id} is {lease.status}"
            if each.name not in given:
                yield said
            elif each.service_host in pooled:
                yield f"{said}, and its host is in the reservation pool again"
    there = {each.id for each in servers}
    for ident, name in sorted(running.items()):
        lease = of.get(name)
        kept = lease is None or (
            lease.deleted_at is None and (lease.status == "ACTIVE" or (lease.status == "TERMINATED" and name in given))
        )
        if ident not in there and kept:
            yield f"server {ident} is gone, and {name if lease is None else f'lease {lease.id} is {lease.status}'}"


def _given_back(tables: Tables) -> set[str]:
    """Return the ids of the reservations whose end has come, and whose servers live on for good since then."""
    ended = {row.lease_id for row in tables["outbox"] if row.event_type == "lease.event.end_lease"}
    return {part.id for part in tables["reservations"] if part.lease_id in ended and gives_back(part)}
