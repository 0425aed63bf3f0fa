"""Invariants of the database and of the cloud, checked by brute force.

The checks follow the contract and use neither the calendar nor the use cases, so they are independent of both.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox import tables as cloud_tables
from leasehold.db import tables
from leasehold.db.engine import reading
from leasehold.leasing.audit.db import audit_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Engine, Row, Table

    from tests.factory import World

Rows = dict[str, list["Row[Any]"]]

BOOKS = tuple(tables.metadata.sorted_tables)
MANMADE = ("sandbox_servers", "sandbox_usages", "sandbox_snapshots", "sandbox_state", "sandbox_faults")
"""Cloud tables that users or the test write. All other tables must be in their initial state at the end."""
CLOUD = tuple(table for table in cloud_tables.metadata.sorted_tables if table.name not in MANMADE)

# By lease status: the allowed statuses of its reservations, start event and end event (contract lifecycle §1.1). Beyond
# the contract, a lease may end, or fail to end, without having started; the start event is then ERROR.
COMBINATIONS: dict[str, tuple[set[str], set[str], set[str]]] = {
    "PENDING": ({"pending"}, {"UNDONE"}, {"UNDONE"}),
    "STARTING": ({"pending", "active", "error"}, {"IN_PROGRESS"}, {"UNDONE"}),
    "ACTIVE": ({"active"}, {"DONE"}, {"UNDONE"}),
    "TERMINATING": (
        {"pending", "active", "deleted", "error"},
        {"UNDONE", "IN_PROGRESS", "DONE", "ERROR"},
        {"IN_PROGRESS"},
    ),
    "TERMINATED": ({"deleted"}, {"DONE", "ERROR"}, {"DONE"}),
    "ERROR": ({"pending", "active", "deleted", "error"}, {"DONE", "ERROR"}, {"UNDONE", "ERROR", "DONE"}),
    "DELETING": (
        {"pending", "active", "deleted", "error"},
        {"UNDONE", "IN_PROGRESS", "DONE", "ERROR"},
        {"UNDONE", "IN_PROGRESS", "DONE", "ERROR"},
    ),
}
RUNNING = ("PENDING", "STARTING", "ACTIVE")
"""Statuses in which a lease must have the allocations that it requested."""
SLOTS = ("virtual:instance", "flavor:instance")


def dump(engine: Engine, wanted: Sequence[Table] = BOOKS) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of these tables, sorted, as comparable values."""
    with reading(engine) as connection:
        return {
            table.name: sorted((tuple(map(repr, row)) for row in connection.execute(select(table))), key=repr)
            for table in wanted
        }


def cloud_state(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of the tables in `CLOUD`, with names instead of generated keys."""
    with reading(engine) as connection:
        found = {table.name: [dict(row) for row in connection.execute(select(table)).mappings()] for table in CLOUD}
    names = {row["id"]: row["name"] for row in found["sandbox_aggregates"]}
    provider = {row["id"]: row["name"] for row in found["sandbox_providers"]}
    address = {row["id"]: row["address"] for row in found["sandbox_floating_ips"]}
    for row_name, key, by in (
        ("sandbox_aggregate_hosts", "aggregate_id", names),
        ("sandbox_inventories", "provider_id", provider),
        ("sandbox_traits", "provider_id", provider),
        ("sandbox_floating_ip_tags", "floating_ip_id", address),
    ):
        found[row_name] = [{**row, key: by[row[key]]} for row in found[row_name]]
    return {
        name: sorted(
            tuple(f"{key}={value!r}" for key, value in row.items() if key not in ("id", "parent_id")) for row in rows
        )
        for name, rows in found.items()
    }


def seconds(moment: datetime) -> int:
    """Return a moment from the tables as whole seconds since the epoch."""
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())


@dataclass(frozen=True, slots=True)
class Database:
    """All rows of the database, read in one transaction."""

    now: datetime
    rows: Rows

    @classmethod
    def read(cls, world: World) -> Database:
        with reading(world.engine) as connection:
            return cls(
                world.now(),
                {table.name: list(connection.execute(select(table))) for table in tables.metadata.sorted_tables},
            )

    def leases(self) -> Iterator[Row[Any]]:
        return (row for row in self.rows["leases"] if row.deleted_at is None)

    def parts(self, lease: Row[Any]) -> list[Row[Any]]:
        return [row for row in self.rows["reservations"] if row.lease_id == lease.id]

    def event(self, lease: Row[Any], kind: str) -> Row[Any]:
        (found,) = [row for row in self.rows["events"] if row.lease_id == lease.id and row.type == kind]
        return found

    def live(self, lease: Row[Any], part: Row[Any]) -> list[Row[Any]]:
        """Return the allocations of a reservation that last until the end of its lease."""
        return [
            row
            for row in self.rows["allocations"]
            if row.reservation_id == part.id
            and row.released_at is None
            and row.left_at is None
            and row.ends_at > row.starts_at
            and row.ends_at >= seconds(lease.end_at)
        ]

    def left(self, part: Row[Any]) -> set[str]:
        """Return the service names of failed hosts that a reservation vacated but on which it still has servers."""
        numbers = {
            row.resource_number
            for row in self.rows["allocations"]
            if row.reservation_id == part.id and row.released_at is None and row.left_at is not None
        }
        return {self.resource(number).attributes["service_name"] for number in numbers}

    def resource(self, number: int) -> Row[Any]:
        (found,) = [row for row in self.rows["resources"] if row.number == number]
        return found


def audit(world: World) -> None:
    """Raise AssertionError if the database breaks any invariant."""
    db = Database.read(world)
    _check_capacity(db)
    for lease in db.leases():
        _check_statuses(db, lease)
        _check_promises(db, lease)
        _check_work(db, lease)
    _check_tasks(db)
    _check_released(db)
    with reading(world.engine) as connection:
        found = audit_database(connection, world.now())
    # Ignore `late`: the test decides when the manager works. Ignore `kept` without a mend: it is reported while the
    # cloud refuses to take something back.
    findings = [each for each in found if each.kind != "late" and not (each.kind == "kept" and each.mend is None)]
    assert findings == [], findings


def _check_capacity(db: Database) -> None:
    """At every instant, past or future, the allocations of a resource fit its capacity."""
    by_resource: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in db.rows["allocations"]:
        if row.ends_at > row.starts_at:
            by_resource[row.resource_number].append(row)
    for number, held in by_resource.items():
        capacity = db.resource(number).capacity
        for instant in {row.starts_at for row in held}:
            at_once = [row for row in held if row.starts_at <= instant < row.ends_at]
            if any(row.demand is None for row in at_once):
                assert len(at_once) == 1, f"resource {number} has an exclusive allocation and others at once: {at_once}"
                continue
            taken: Counter[str] = Counter()
            for row in at_once:
                for name, amount in json.loads(row.demand).items():
                    taken[name] += row.slots * amount
            for name, amount in taken.items():
                assert amount <= capacity[name], f"{amount} {name} of {capacity[name]} on resource {number}: {at_once}"


def _check_statuses(db: Database, lease: Row[Any]) -> None:
    start, end = db.event(lease, "start_lease"), db.event(lease, "end_lease")
    parts = {part.status for part in db.parts(lease)}
    allowed = COMBINATIONS[lease.status]
    found = (lease.status, parts, start.status, end.status, lease.status_reason)
    assert parts <= allowed[0], found
    assert start.status in allowed[1], found
    assert end.status in allowed[2], found
    assert (start.time, end.time) == (lease.start_at, lease.end_at), found
    if lease.status == "ERROR":
        assert lease.status_reason, found
        assert (end.status == "DONE") <= (parts <= {"deleted"}), found
    if lease.status in ("TERMINATED", "ACTIVE") and start.status == "ERROR":
        assert lease.status == "TERMINATED", found
    assert "internal error" not in (lease.status_reason or ""), found
    warnings = [row for row in db.rows["events"] if row.lease_id == lease.id and row.type == "before_end_lease"]
    assert all(lease.start_at <= row.time <= lease.end_at for row in warnings), found
    assert lease.degraded >= any(part.resources_changed for part in db.parts(lease)), found
    assert lease.degraded >= any(part.missing_resources for part in db.parts(lease)), found


def _check_promises(db: Database, lease: Row[Any]) -> None:
    """Each lease has the requested allocations, from now or its start to its end, or reports missing resources."""
    if lease.status not in RUNNING or lease.start_at == lease.end_at or lease.end_at <= db.now:
        return
    for part in db.parts(lease):
        held = db.live(lease, part)
        for row in held:
            assert row.ends_at == seconds(lease.end_at), (lease, row)
            assert row.starts_at <= max(seconds(lease.start_at), seconds(db.now)), (lease, row)
            if lease.start_at > db.now:
                assert row.starts_at == seconds(lease.start_at), (lease, row)
        slots = sum(row.slots for row in held)
        least, most = _bounds(part)
        assert slots <= most, (lease, part, held)
        assert slots >= least or part.missing_resources, (lease, part, held)
        _check_places(db, part, held)


def _bounds(part: Row[Any]) -> tuple[int, int]:
    if part.resource_type == "physical:host":
        return part.request["min"], part.request["max"]
    return part.request["amount"], part.request["amount"]


def _check_places(db: Database, part: Row[Any], held: Sequence[Row[Any]]) -> None:
    numbers = [row.resource_number for row in held]
    for row in held:
        resource = db.resource(row.resource_number)
        floating = part.resource_type == "virtual:floatingip"
        assert resource.type == ("virtual:floatingip" if floating else "physical:host")
        assert resource.deleted_at is None, (part, resource)
        assert (row.demand is None) == (part.resource_type not in SLOTS), (part, row)
    if part.resource_type not in SLOTS:
        assert len(set(numbers)) == len(numbers), (part, held)
        return
    affinity = part.request["affinity"]
    if affinity is True:
        assert len(set(numbers)) <= 1, (part, held)
    if affinity is False:
        assert max(Counter(numbers).values(), default=0) <= 1, (part, held)
        assert all(row.slots == 1 for row in held), (part, held)
    demand = {"VCPU": part.request.get("vcpus")} if part.resource_type == "virtual:instance" else part.request["demand"]
    for row in held:
        assert demand.items() <= json.loads(row.demand).items(), (part, row)


def _check_work(db: Database, lease: Row[Any]) -> None:
    """An unfinished lease has a scheduled task, due no later than its next start or end event."""
    (task,) = [row for row in db.rows["tasks"] if (row.kind, row.subject) == ("lease", lease.id)]
    moments = [
        row.time
        for row in db.rows["events"]
        if row.lease_id == lease.id
        and row.type in ("start_lease", "end_lease")
        and row.status in ("UNDONE", "IN_PROGRESS")
    ]
    if lease.status == "DELETING":
        moments.append(db.now)
    if not moments:
        return
    assert task.due_at is not None, (lease, task)
    if min(moments) > db.now:
        assert task.due_at <= min(moments), (lease, task)


def _check_tasks(db: Database) -> None:
    """Each lease has exactly one task, so that two managers never work on the same lease."""
    subjects = Counter(row.subject for row in db.rows["tasks"] if row.kind == "lease")
    assert set(subjects) == {row.id for row in db.rows["leases"]}
    assert set(subjects.values()) <= {1}


def _check_released(db: Database) -> None:
    """All allocations of terminated leases, and of deleted leases without work left, are released."""
    idle = {row.subject for row in db.rows["tasks"] if row.due_at is None}
    over = {row.id for row in db.rows["leases"] if row.status == "TERMINATED" or (row.deleted_at and row.id in idle)}
    kept = [row for row in db.rows["allocations"] if row.lease_id in over and row.released_at is None]
    assert not kept, kept


# ---------------------------------------------------------------- the cloud, when no work is left


def audit_cloud(world: World) -> None:
    """Raise AssertionError if the cloud differs from the database; call it only with no work left and no fault set."""
    db = Database.read(world)
    state = CloudState.read(world)
    unfinished = {
        part.id for lease in db.leases() if lease.status not in (*RUNNING, "TERMINATED") for part in db.parts(lease)
    }
    assert not [lease for lease in db.leases() if lease.status in ("STARTING", "TERMINATING", "DELETING")]
    _check_aggregates(db, state, unfinished)
    _check_flavors(db, state, unfinished)
    _check_addresses(db, state, unfinished)


@dataclass(frozen=True, slots=True)
class CloudState:
    """The state of the cloud, by name."""

    members: Mapping[str, set[str]]
    flavors: Mapping[str, set[str]]
    classes: set[str]
    inventories: Mapping[tuple[str, str], int]
    addresses: Mapping[str, str]

    @classmethod
    def read(cls, world: World) -> CloudState:
        cloud = cloud_tables
        with reading(world.engine) as connection:
            rows = {table.name: list(connection.execute(select(table))) for table in cloud.metadata.sorted_tables}
        members: dict[str, set[str]] = {row.name: set() for row in rows["sandbox_aggregates"]}
        names = {row.id: row.name for row in rows["sandbox_aggregates"]}
        for row in rows["sandbox_aggregate_hosts"]:
            members[names[row.aggregate_id]].add(row.service_host)
        flavors: dict[str, set[str]] = {row.id: set() for row in rows["sandbox_flavors"]}
        for row in rows["sandbox_flavor_access"]:
            flavors[row.flavor_id].add(row.project_id)
        providers = {row.id: row.name for row in rows["sandbox_providers"]}
        tags = {row.floating_ip_id: row.tag for row in rows["sandbox_floating_ip_tags"] if row.tag != "blazar"}
        return cls(
            members,
            flavors,
            {row.name for row in rows["sandbox_resource_classes"]},
            {(providers[row.provider_id], row.resource_class): row.total for row in rows["sandbox_inventories"]},
            {row.address: tags.get(row.id, "") for row in rows["sandbox_floating_ips"]},
        )


def _wanted(db: Database, kinds: Sequence[str], statuses: Sequence[str]) -> dict[str, tuple[Row[Any], Row[Any]]]:
    return {
        part.id: (lease, part)
        for lease in db.leases()
        if lease.status in statuses
        for part in db.parts(lease)
        if part.resource_type in kinds
    }


def _service_hosts(db: Database, lease: Row[Any], part: Row[Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in db.live(lease, part):
        found[db.resource(row.resource_number).attributes["service_name"]] += row.slots
    return found


def _check_aggregates(db: Database, state: CloudState, unfinished: set[str]) -> None:
    """A host is in the free pool or in its active reservation's aggregate, and no other aggregates exist."""
    expected = _wanted(db, ("physical:host", *SLOTS), ("PENDING", "ACTIVE"))
    assert set(state.members) - unfinished == {seed.FREEPOOL, *expected}
    leased: set[str] = set()
    for name, (lease, part) in expected.items():
        held = set(_service_hosts(db, lease, part)) if lease.status == "ACTIVE" else set()
        if part.resource_type == "physical:host":
            # A failed host stays in the aggregate until its servers are gone, so no other reservation gets it.
            held |= db.left(part)
            leased |= held
        assert state.members[name] == held, (lease, part)
    whole = {part.id for part in db.rows["reservations"] if part.resource_type == "physical:host"}
    quarantined = {host for name in unfinished & whole for host in state.members.get(name, ())}
    enrolled = {
        row.attributes["service_name"]
        for row in db.rows["resources"]
        if row.type == "physical:host" and row.deleted_at is None
    }
    assert state.members[seed.FREEPOOL] - quarantined == enrolled - leased - quarantined


def _check_flavors(db: Database, state: CloudState, unfinished: set[str]) -> None:
    """Flavors, resource classes and inventories exist for exactly the reservations that need them."""
    expected = _wanted(db, SLOTS, ("PENDING", "ACTIVE"))
    public = {flavor.id for flavor in seed.FLAVORS}
    assert set(state.flavors) - unfinished == public | set(expected)
    names = {f"CUSTOM_RESERVATION_{name.replace('-', '_').upper()}": name for name in (*expected, *unfinished)}
    reserved = {name for name in state.classes if name.startswith("CUSTOM_RESERVATION_")}
    assert {names.get(name, name) for name in reserved} - unfinished == set(expected)
    inventories: dict[str, dict[str, int]] = defaultdict(dict)
    for (provider, name), total in state.inventories.items():
        if name.startswith("CUSTOM_RESERVATION_"):
            inventories[names[name]][provider] = total
    for name, (lease, part) in expected.items():
        active = lease.status == "ACTIVE"
        assert state.flavors[name] == ({lease.project_id} if active else set()), (lease, part)
        hostname = {
            row.attributes["service_name"]: row.attributes["hypervisor_hostname"]
            for row in db.rows["resources"]
            if row.type == "physical:host" and row.deleted_at is None
        }
        held = _service_hosts(db, lease, part) if active else {}
        # Placement keeps the inventory of a failed host while servers there still use it.
        left = {f"blazar_{hostname[host]}" for host in db.left(part)}
        offered = {provider: slots for provider, slots in inventories[name].items() if provider not in left}
        assert offered == {f"blazar_{hostname[host]}": slots for host, slots in held.items()}, (lease, part)


def _check_addresses(db: Database, state: CloudState, unfinished: set[str]) -> None:
    """The addresses of active reservations exist in the cloud, and no other addresses."""
    expected = {
        db.resource(row.resource_number).attributes["floating_ip_address"]: f"reservation:{part.id}"
        for lease, part in _wanted(db, ("virtual:floatingip",), ("ACTIVE",)).values()
        for row in db.live(lease, part)
    }
    present = {
        address: tag for address, tag in state.addresses.items() if tag.removeprefix("reservation:") not in unfinished
    }
    assert present == expected
