"""The invariants of the database, checked by brute force on plain rows.

The checks follow the contract and use neither the calendar nor the use cases, so they are independent of both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tests.harness.pool_checks import pool_problems
from tests.harness.record_checks import check_begun_after_creation, record_problems
from tests.harness.said import said_by
from tests.harness.tables import Row, Tables, is_dropped, moment, seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
    "IN_PROGRESS": ({"pending"}, {"UNDONE"}, {"UNDONE"}),
    "TIMEDOUT": ({"deleted"}, {"ERROR"}, {"DONE"}),
    "OFFERED": ({"pending"}, {"UNDONE"}, {"UNDONE"}),
}
RUNNING = ("PENDING", "STARTING", "ACTIVE", "OFFERED")
"""Statuses in which a lease must have the allocations that it requested."""
MAINTENANCE = "maintenance:host"
NO_LEAD = (timedelta(0),)
FOR_GOOD = int(datetime(9999, 12, 1, tzinfo=UTC).timestamp())
"""Until when a host is reserved that may be given back with its servers."""
SLOTS = ("virtual:instance", "flavor:instance")


def database_problems(
    tables: Tables, now: datetime, *, imported: bool = False, leads: Collection[timedelta] = NO_LEAD
) -> list[str]:
    """Return a sentence for each broken invariant; with `imported`, the leases were not created by this service.

    The work of each start begins by one of the `leads` before it.
    """
    found: list[str] = []
    for check in (_check_capacity, _check_rows, _check_generations, _check_tasks, _check_released, _check_log):
        found += said_by(check, tables)
    found += record_problems(tables, now) + pool_problems(tables)
    if not imported:
        found += said_by(_check_creations, tables)
        found += said_by(check_begun_after_creation, tables)
    for lease in tables.leases():
        if not imported:
            found += said_by(_check_flags, tables, lease, now)
        found += said_by(_check_statuses, tables, lease, leads)
        found += said_by(_check_promises, tables, lease, now)
        found += said_by(_check_sub_lease, tables, lease)
        found += said_by(_check_work, tables, lease, now)
    return found


def _check_capacity(tables: Tables) -> None:
    """At every instant, past or future, the allocations of a resource fit its capacity."""
    by_resource: dict[int, list[Row]] = defaultdict(list)
    for row in tables.allocated():
        by_resource[row.resource_number].append(row)
    maintenance = {row.id for row in tables["reservations"] if row.resource_type == MAINTENANCE}
    begun = {row.lease_id for row in tables["events"] if row.type == "start_lease" and row.status != "UNDONE"}
    # A sub-lease has no other hosts than those that it was lent.
    begun |= {row.lease_id for row in tables["reservations"] if lent_to(row) is not None}
    for number, held in by_resource.items():
        capacity = tables.resource(number).capacity
        for instant in {row.starts_at for row in held}:
            at_once = [row for row in held if row.starts_at <= instant < row.ends_at]
            windows = [row for row in at_once if row.reservation_id in maintenance]
            others = [row for row in at_once if row not in windows]
            # A maintenance window may have been made beside other windows and leases that had begun, and no others.
            assert not windows or {row.lease_id for row in others} <= begun, f"{windows} beside {others}"
            at_once = others
            if any(row.demand is None for row in at_once):
                assert len(at_once) == 1, f"resource {number} is promised whole and otherwise at {instant}: {at_once}"
                continue
            taken: Counter[str] = Counter()
            for row in at_once:
                for name, amount in row.demand.items():
                    taken[name] += row.slots * amount
            for name, amount in taken.items():
                has = capacity.get(name, 0)
                assert amount <= has, f"resource {number} has {has} {name} and has promised {amount}: {at_once}"


def _check_rows(tables: Tables) -> None:
    """Every row belongs to a lease, and every lease has its events."""
    leases = {row.id for row in tables["leases"]}
    for table in ("reservations", "allocations", "events", "outbox"):
        # An event of a resource has no lease.
        unknown = {row.lease_id for row in tables[table]} - leases - {""}
        assert not unknown, f"{table} holds rows of the unknown leases {unknown}"
    missing = leases - {row.lease_id for row in tables["events"]}
    assert not missing, f"the leases {missing} have no row in events"


def _check_log(tables: Tables) -> None:
    """Events have their places without a gap, and those of a lease are in the order of its changes.

    A purge leaves gaps on purpose, and an event that was written by an older version does not know its change.
    """
    (log,) = tables["event_log"]
    placed = sorted((row for row in tables["outbox"] if row.position is not None), key=attrgetter("position"))
    if not log.purged:
        places = [row.position for row in placed]
        assert places == list(range(1, log.last + 1)), f"the log ends at {log.last}, and has the places {places}"
    changes: dict[str, list[int]] = defaultdict(list)
    waiting = [row for row in tables["outbox"] if row.position is None]
    for row in (*placed, *sorted(waiting, key=lambda row: row.generation or 0)):
        if row.lease_id and row.generation is not None:
            changes[row.lease_id].append(row.generation)
    disordered = [lease_id for lease_id, mine in changes.items() if mine != sorted(mine)]
    assert not disordered, f"the events of the leases {disordered} are out of order"


def _check_creations(tables: Tables) -> None:
    """A lease is created with its row in the outbox, and granted with its allocations, in one transaction."""
    told = {row.lease_id for row in tables["outbox"]}
    # Nobody is told of an offer before it is accepted.
    offers = {row.id for row in tables["leases"] if row.offered_until and (row.status == "OFFERED" or row.deleted_at)}
    told_of = {row.id for row in tables["leases"] if row.status == "OFFERED"} & told
    assert not told_of, f"the offers {told_of} have rows in outbox"
    missing = {row.id for row in tables["leases"]} - told - offers
    assert not missing, f"the leases {missing} have no row in outbox"
    waits = {row.id for row in tables["leases"] if row.waiting is not None and not row.waiting["granted"]}
    parts = {row.id for row in tables["reservations"] if row.lease_id not in waits}
    empty = parts - {row.reservation_id for row in tables["allocations"]}
    assert not empty, f"the reservations {empty} were never promised anything"
    promised = [row for row in tables["allocations"] if row.lease_id in waits]
    assert not promised, f"leases that wait, or that were never granted, were promised {promised}"
    lost = {row.id for row in tables["leases"] if (row.waiting_since is None) == (row.status == "IN_PROGRESS")}
    assert not lost, f"the leases {lost} are in line and do not wait, or the other way round"


def _check_generations(tables: Tables) -> None:
    """No allocation may have a generation that its pool has not reached."""
    generations = {row.name: row.generation for row in tables["pools"]}
    ahead = [row for row in tables["allocations"] if row.generation > generations[row.pool]]
    assert not ahead, f"allocations are ahead of the generations {generations} of their pools: {ahead}"


def _check_tasks(tables: Tables) -> None:
    """Each lease has exactly one task, so that two managers never work on the same lease."""
    subjects = Counter(row.subject for row in tables["tasks"] if row.kind == "lease")
    leases = {row.id for row in tables["leases"]}
    assert set(subjects) == leases, f"tasks without a lease, or leases without a task: {set(subjects) ^ leases}"
    assert set(subjects.values()) <= {1}, f"leases with two tasks: {subjects}"


def _check_released(tables: Tables) -> None:
    """All allocations of terminated leases, and of deleted leases without work left, are released."""
    idle = {row.subject for row in tables["tasks"] if row.due_at is None}
    over = {row.id for row in tables["leases"] if row.status == "TERMINATED" or (row.deleted_at and row.id in idle)}
    kept = [row for row in tables["allocations"] if row.lease_id in over and row.released_at is None]
    assert not kept, f"ended leases still hold {kept}"


def _check_statuses(tables: Tables, lease: Row, leads: Collection[timedelta]) -> None:
    start, end = tables.event(lease, "start_lease"), tables.event(lease, "end_lease")
    # One that was dropped is gone while the others go on, and is as they are until then.
    parts = {part.status for part in tables.parts(lease) if not (is_dropped(part) and part.status == "deleted")}
    allowed = COMBINATIONS[lease.status]
    found = f"lease {lease.id} is {lease.status} with {parts}, {start}, {end}: {lease.status_reason}"
    assert parts <= allowed[0], found
    assert start.status in allowed[1], found
    assert end.status in allowed[2], found
    assert (lease.start_at - start.time in leads, end.time) == (True, lease.end_at), found
    if lease.status == "ERROR":
        assert lease.status_reason, found
        assert (end.status == "DONE") <= (parts <= {"deleted"}), found
    if lease.status in ("TERMINATED", "ACTIVE") and start.status == "ERROR":
        assert lease.status == "TERMINATED", found
    assert "internal error" not in (lease.status_reason or ""), found
    warnings = [row for row in tables["events"] if row.lease_id == lease.id and row.type == "before_end_lease"]
    assert all(lease.start_at <= row.time <= lease.end_at for row in warnings), found
    flagged = any(part.resources_changed or part.missing_resources for part in tables.parts(lease))
    assert bool(lease.degraded) == flagged, found


def _check_flags(tables: Tables, lease: Row, now: datetime) -> None:
    """A reservation is flagged as changed while it has a substitute; what it misses is known while it is flagged."""
    if lease.status not in RUNNING or lease.start_at == lease.end_at or lease.end_at <= now:
        return
    for part in tables.parts(lease):
        held = tables.live(lease, part)
        found = f"reservation {part.id} of {lease} is {part} and holds {held}"
        assert bool(part.resources_changed) == any(row.substitute for row in held), found
        assert bool(part.missing_resources) == (part.missing is not None), found
        has = sum(row.slots for row in (*held, *lent_by(tables, part)))
        assert has + (part.missing or 0) <= _bounds(part)[1], found


def _check_promises(tables: Tables, lease: Row, now: datetime) -> None:
    """Each lease has the requested allocations, from now or its start to its end, or reports missing resources.

    With a lead they begin when the work of its start does.
    They last as long after the end as servers may live on; for good, where hosts are given back with them.
    """
    if lease.status not in RUNNING or lease.start_at == lease.end_at or lease.end_at <= now:
        return
    begins = tables.event(lease, "start_lease").time
    for part in tables.parts(lease):
        held = tables.live(lease, part)
        until = FOR_GOOD if gives_back(part) else seconds(lease.end_at) + lives_on(part)
        until = until if lent_to(part) is None else lent_to(part)["until"]
        for row in held:
            assert row.ends_at == until, (lease, row)
            assert row.starts_at <= max(seconds(begins), seconds(now)), (lease, row)
            if begins > now:
                assert row.starts_at == seconds(begins), (lease, row)
        slots = sum(row.slots for row in (*held, *lent_by(tables, part)))
        least, most = _bounds(part)
        found = f"reservation {part.id} asked for {least} to {most} and holds {slots}: {lease}, {held}"
        assert slots <= most, found
        assert slots >= least or part.missing_resources, found
        _check_places(tables, part, held)


def _check_sub_lease(tables: Tables, lease: Row) -> None:
    """A sub-lease lies in the window of its lender, holds up to its end, and is lent by an active lease of hosts.

    What it has not released is lent by no reservation beside that, and the lender does not hold it.
    """
    parts = tables.parts(lease)
    lent = [found for part in parts if (found := lent_to(part)) is not None]
    assert getattr(lease, "parent_id", None) == (lent[0]["lease"] if lent else None), (lease, lent)
    if not lent:
        return
    (part,), (lender,) = parts, [row for row in tables["leases"] if row.id == lease.parent_id]
    (lends,) = [row for row in tables.parts(lender) if row.id == lent[0]["reservation"]]
    assert getattr(lender, "parent_id", None) is None, (lease, lender)
    assert lender.start_at <= lease.start_at <= lease.end_at, (lease, lender)
    assert part.resource_type == lends.resource_type == "physical:host", (part, lends)
    assert lease.heal_policy == "never", lease
    if lender.status not in RUNNING:
        return
    assert lease.end_at <= lender.end_at, (lease, lender)
    has = {row.resource_number for row in tables.live(lender, lends)}
    held = {row.resource_number for row in lent_by(tables, lends) if row.reservation_id == part.id}
    assert has.isdisjoint(held), (lease, lender, has, held)


def lent_to(part: Row) -> Any:
    """Return by which reservation of which lease the resources of a sub-lease are lent, and until when."""
    ending = getattr(part, "ending", None)
    return None if ending is None else ending.get("lent")


def lent_by(tables: Tables, part: Row) -> list[Row]:
    """Return what sub-leases of a reservation have not released."""
    children = {each.id for each in tables["reservations"] if (lent_to(each) or {}).get("reservation") == part.id}
    return [row for row in tables["allocations"] if row.reservation_id in children and row.released_at is None]


def gives_back(part: Row) -> bool:
    """Say whether servers of a reservation live on for good after its lease, and take their hosts along."""
    ending = getattr(part, "ending", None)
    return ending is not None and ending["on_end"] == "give_back"


def lives_on(part: Row) -> int:
    """Return for how many seconds servers of a reservation may live on after its lease."""
    ending = getattr(part, "ending", None)
    return 0 if ending is None else int(ending["grace"] + ending["limit"])


def _bounds(part: Row) -> tuple[int, int]:
    if is_dropped(part):
        return 0, 0
    if part.resource_type == "physical:host":
        return part.request["min"], part.request["max"]
    if part.resource_type == MAINTENANCE:
        return len(part.request["hosts"]), len(part.request["hosts"])
    return part.request["amount"], part.request["amount"]


def _check_places(tables: Tables, part: Row, held: Sequence[Row]) -> None:
    numbers = [row.resource_number for row in held]
    for row in held:
        resource = tables.resource(row.resource_number)
        floating = part.resource_type == "virtual:floatingip"
        assert resource.type == ("virtual:floatingip" if floating else "physical:host"), (part, resource)
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
    instance = part.resource_type == "virtual:instance"
    demand: dict[str, Any] = {"VCPU": part.request.get("vcpus")} if instance else part.request["demand"]
    for row in held:
        assert demand.items() <= row.demand.items(), (part, row)


def _check_work(tables: Tables, lease: Row, now: datetime) -> None:
    """An unfinished lease has a scheduled task, due no later than its next start or end event; or its next try."""
    (task,) = [row for row in tables["tasks"] if (row.kind, row.subject) == ("lease", lease.id)]
    moments = [
        row.time
        for row in tables["events"]
        if row.lease_id == lease.id
        and row.type in ("start_lease", "end_lease")
        and row.status in ("UNDONE", "IN_PROGRESS")
    ]
    if lease.start_at == lease.end_at:
        # It is never started, so nothing is done for it before then.
        moments = [max(each, lease.start_at) for each in moments]
    if lease.status == "DELETING":
        moments.append(now)
    if lease.status == "IN_PROGRESS":
        # What it asked for may begin before it is tried again.
        moments = [moment(lease.waiting[name]) for name in ("next_try", "deadline") if lease.waiting[name]]
    if lease.status == "OFFERED":
        moments = [moment(lease.offered_until)]
    if not moments:
        return
    assert task.due_at is not None, (lease, task)
    if min(moments) > now:
        assert task.due_at <= min(moments), (lease, task)
