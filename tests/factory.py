"""Complete services for tests: an SQLite database, a planted sandbox cloud, a settable clock and a manual manager.

Nothing here starts a thread or sleeps: the test sets the time and decides how many tasks the manager runs.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import select

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.cloud import SandboxCloud, sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.conf.database import PATIENT
from leasehold.conf.settings import ManagerSettings, Settings
from leasehold.db import schema
from leasehold.db.engine import open_engine, writing
from leasehold.db.resources.resource import list_resources
from leasehold.db.store import Database
from leasehold.db.tables import outbox, tasks
from leasehold.db.task import END_NOTICE, claim_tasks, postpone_task
from leasehold.enforcement.base import load_filters
from leasehold.features.registry import clauses, estimators, listeners, owns, records, sources, stays, ways
from leasehold.leasing import amend, create, delete, swap
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.healing import heal, heal_request
from leasehold.leasing.maintenance.model import MaintenanceDraft, OnConflict
from leasehold.leasing.maintenance.use import make_maintenance
from leasehold.leasing.reading import queries
from leasehold.leasing.resources import resource
from leasehold.leasing.resources.enrol import enrol
from leasehold.leasing.service import Service
from leasehold.manager import monitor
from leasehold.manager.task_runner import run_task
from leasehold.model.caller import EVERYTHING, Caller, Sight
from leasehold.model.draft import LeaseChanges, LeaseDraft, SwapWish
from leasehold.model.membership import Membership
from leasehold.model.resource import FLOATING_IP, HOST, Disabling, Restriction
from leasehold.resource_types.registry import load_types
from tests.locks import watch_locks
from tests.statements import share_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sqlalchemy import Engine, Executable

    from leasehold.cloud.ports import Server
    from leasehold.db.task import Claim
    from leasehold.features.lending.published_offer import PublishedOffer
    from leasehold.model.lease import Event, Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.model.states import EventType
    from leasehold.model.terms.notice import Notice

START = datetime(2031, 5, 1, 9, 0, tzinfo=UTC)
TYPES = load_types(["physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip"])
NETWORK = seed.NETWORK_ID
DEMO = Caller("alice", "demo")
ALT = Caller("bob", "alt")
OPERATOR = Caller("root", "operators")
AT_ONCE = Settings(manager=ManagerSettings(failure_grace_seconds=0))
"""Settings without a grace period: a host counts as failed as soon as the monitor finds it down."""
ENDLESS = 2000
"""The limit on tasks run at one moment: more than any test needs, so reaching it means an endless loop."""


def enrol_host(service: Service, name: str, properties: Mapping[str, str]) -> Resource:
    """Enrol a host by its hypervisor hostname."""
    return enrol(service, HOST, {"name": name}, properties)


def change_host(service: Service, ident: str, properties: Mapping[str, str | None]) -> Resource:
    """Set and remove properties of a host."""
    return resource.change(service, HOST, ident, properties)


def remove_host(service: Service, ident: str) -> None:
    """Remove an enrolled host."""
    resource.remove(service, HOST, ident)


class Clock:
    """The clock of the service and of its cloud; the test sets it."""

    def __init__(self, moment: datetime = START) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def advance(self, **parts: float) -> None:
        """Move the clock forward by a timedelta with these arguments."""
        self.moment += timedelta(**parts)

    def set(self, moment: datetime) -> None:
        """Set the clock to a moment, unless the moment is in the past."""
        self.moment = max(self.moment, moment)


class Killed(BaseException):
    """Simulates the death of the process: no code handles it, so work in progress is never completed."""


@dataclass(frozen=True, slots=True)
class World:
    """A service with its cloud and its clock, and shortcuts for the calls that tests make."""

    service: Service
    cloud: SandboxCloud
    clock: Clock
    engine: Engine
    hosts: dict[str, Resource] = field(default_factory=dict)
    addresses: dict[str, Resource] = field(default_factory=dict)

    def now(self) -> datetime:
        return self.clock.now()

    def hour(self, hours: float) -> datetime:
        """Return the moment this many hours after `START`."""
        return START + timedelta(hours=hours)

    def enrol(self, *names: str, **properties: str) -> None:
        """Enrol hosts by hypervisor hostname, all with these properties."""
        for name in names:
            self.hosts[name] = enrol_host(self.service, name, properties)

    def share(self, *names: str) -> None:
        """Enrol hosts by hypervisor hostname as shared ones, with the servers that they have."""
        for name in names:
            self.hosts[name] = enrol(self.service, HOST, {"name": name, "pool": "shared"}, {})

    def move(self, label: str, pool: str) -> Resource:
        """Ask for a host in a pool; its task does the rest."""
        return resource.change(self.service, HOST, self.host(label).id, {}, None, Membership(pool))

    def host(self, label: str) -> Resource:
        """Return an enrolled host in its present state."""
        return next(each for each in self.listed() if each.label == label)

    def enrol_addresses(self, *lasts: int) -> None:
        """Enrol addresses of the sandbox's network by their last octet."""
        for last in lasts:
            text = f"203.0.113.{last}"
            self.addresses[text] = enrol(
                self.service, FLOATING_IP, {"floating_network_id": NETWORK, "floating_ip_address": text}
            )

    def lease(
        self,
        *reservations: Mapping[str, Any],
        start: float = 0,
        end: float = 1,
        caller: Caller = DEMO,
        key: str | None = None,
        sight: Sight = EVERYTHING,
        **more: Any,
    ) -> Lease:
        """Create a lease; `start` and `end` are hours after `START`."""
        name, fingerprint = (
            more.pop("name", "lease"),
            hashlib.sha256(repr((reservations, start, end)).encode()).hexdigest(),
        )
        draft = LeaseDraft(
            name, self.hour(start), self.hour(end), reservations=reservations, fingerprint=fingerprint, **more
        )
        return create.create_lease(self.service, caller, draft, key, sight)

    def active(self, *reservations: Mapping[str, Any], **more: Any) -> Lease:
        """Create a lease that is due now, and run the manager, which starts it."""
        lease = self.lease(*reservations, **more)
        run_manager(self)
        return lease

    def boot(self, lease: Lease, position: int = 0, name: str = "server") -> Server:
        """Boot a server of the owner on a reservation of hosts or of slots."""
        part = lease.reservations[position]
        whole = part.resource_type == HOST
        flavor, hint = ("m1.small", [part.id]) if whole else (part.id, [])
        server = self.cloud.servers.boot(name, lease.project_id, flavor, hint)
        assert server.service_host is not None, self.cloud.servers.fault(server.id)
        return server

    def servers(self) -> set[str]:
        """Return the ids of all servers in the cloud."""
        return {server.id for server in self.cloud.servers.all()}

    def refuse(self, verb: str, times: int | None = None) -> None:
        """Let the cloud refuse these calls for good: always, or the next `times` times."""
        self.cloud.faults.set(Fault(verb, error="before", permanent=True, remaining=times))

    def break_down(self, verb: str = "*", times: int | None = None) -> None:
        """Let these calls to the cloud fail for now: until the faults are cleared, or the next `times` times."""
        self.cloud.faults.set(Fault(verb, error="before", remaining=times))

    def execute(self, statement: Executable) -> None:
        """Change rows directly, as a defect or an operator would."""
        with writing(self.engine) as connection:
            connection.execute(statement)

    def with_settings(self, **groups: Any) -> World:
        """Return the same service as a new process opens it with these groups of settings, e.g. `leases`."""
        settings = replace(self.service.settings, **groups)
        return open_service(str(self.engine.url), clock=self.clock, settings=settings)

    def with_end_waits(self, **waits: timedelta) -> World:
        """Return the same service with a manager that waits so long for end actions."""
        cloud = self.service.settings.cloud
        return self.with_settings(cloud=replace(cloud, end_waits={**cloud.end_waits, **waits}))

    def amend(self, lease: Lease, part: Mapping[str, Any] | None = None, position: int = 0, /, **changes: Any) -> Lease:
        """Amend a lease, with `part` as the changes of the reservation at `position`.

        `start`, `end` and `before_end` may be hours after `START`.
        """
        for name in ("start", "end", "before_end"):
            if isinstance(changes.get(name), int | float):
                changes[name] = self.hour(changes[name])
        if part is not None:
            changes["reservations"] = ({"id": lease.reservations[position].id, **part},)
        return amend.amend_lease(self.service, lease.id, LeaseChanges(**changes))

    def with_preemptibles(self) -> World:
        """Have the cloud's scheduler let preemptible servers onto free hosts."""
        self.cloud.servers.allow_preemptibles(True)
        return self

    def swap(self, lease: Lease, server: str | None = None, *servers: str, host: str | None = None) -> Lease:
        """Swap the host that has `server`, or the host with this name; `servers` are named besides `server`."""
        named = frozenset(servers if server is None else {server, *servers})
        return swap.swap_resource(self.service, lease.id, SwapWish(server, host, named))

    def lend(
        self,
        lease: Lease,
        *labels: str,
        amount: int | None = None,
        end: float | None = None,
        to: str = "alt",
        notice: Notice | None = None,
    ) -> Lease:
        """Lend the hosts with these labels, or an amount of hosts, up to so many hours after `START`."""
        until = None if end is None else self.hour(end)
        from leasehold.features.lending.lend import lend  # noqa: PLC0415 - the core's tests run without it
        from leasehold.features.lending.model import LendWish  # noqa: PLC0415 - likewise

        wish = LendWish("lent", to, until, hosts=labels, amount=amount, notice=notice)
        return lend(self.service, Caller("alice", lease.project_id), lease.id, wish)

    def heal_now(self, lease: Lease) -> Lease:
        """Have what failed of a lease replaced, as its owner does by a request."""
        return heal_request.heal_on_request(self.service, lease.id)

    def maintain(self, *labels: str, start: float = 0, end: float = 1, on_conflict: str = "refuse") -> Lease:
        """Make a maintenance window on the hosts with these labels; `start` and `end` are hours after `START`."""
        ids = {each.label: each.id for each in self.listed()}
        hosts = [ids[label] for label in labels]
        draft = MaintenanceDraft("maintenance", self.hour(start), self.hour(end), hosts, OnConflict(on_conflict))
        return make_maintenance(self.service, OPERATOR, draft)

    def disable(self, *labels: str, disabled: bool = True, reason: str | None = None) -> None:
        """Disable the hosts and addresses with these labels, or enable them."""
        for kind in (HOST, FLOATING_IP):
            for each in queries.list_resources(self.service, kind):
                if each.label in labels:
                    said = Disabling(disabled, reason, OPERATOR)
                    resource.change(self.service, kind, each.id, {}, said)

    def restrict(self, projects: Iterable[str] | None, *labels: str) -> None:
        """Say that these projects alone may use the hosts and addresses with these labels; None: all may."""
        said = Restriction(None if projects is None else frozenset(projects))
        for kind in (HOST, FLOATING_IP):
            for each in queries.list_resources(self.service, kind):
                if each.label in labels:
                    resource.change(self.service, kind, each.id, {}, restriction=said)

    def give(self, owner: str | None, *labels: str, projects: Iterable[str] = ()) -> None:
        """Say that the hosts and addresses with these labels belong to a project, and that these may use them too."""
        said = Restriction(owner=owner, projects=frozenset(projects) or None)
        for kind in (HOST, FLOATING_IP):
            for each in queries.list_resources(self.service, kind):
                if each.label in labels:
                    resource.change(self.service, kind, each.id, {}, restriction=said)

    def publish(
        self, label: str, start: float = 0, end: float = 10, caller: Caller = DEMO, **more: Any
    ) -> PublishedOffer:
        """Publish a host or an address of the caller's project; `start` and `end` are hours after `START`."""
        kind = HOST if label in {each.label for each in self.listed()} else FLOATING_IP
        ident = next(each.id for each in queries.list_resources(self.service, kind) if each.label == label)
        from leasehold.features.lending.publish import publish  # noqa: PLC0415 - the core's tests run without it
        from leasehold.features.lending.published_offer import Publication  # noqa: PLC0415 - likewise

        wish = Publication("lent", kind, ident, self.hour(start), self.hour(end), **more)
        return publish(self.service, caller, wish)

    def offer_part(self, lease: Lease, amount: int = 1, end: float | None = None, **more: Any) -> PublishedOffer:
        """Publish hosts of a lease; `start` and `end` are hours after `START`, without them now and its end."""
        start, until = more.pop("start", None), None if end is None else self.hour(end)
        from leasehold.features.lending.publish_part import publish_part  # noqa: PLC0415 - the core's tests run without it
        from leasehold.features.lending.published_offer import PartPublication  # noqa: PLC0415 - likewise

        wish = PartPublication("part", amount, self.now() if start is None else self.hour(start), until, **more)
        return publish_part(self.service, Caller("alice", lease.project_id), lease.id, wish)

    def claim(
        self,
        offer: PublishedOffer,
        start: float | None = None,
        end: float | None = None,
        caller: Caller = ALT,
        key: str | None = None,
        **more: Any,
    ) -> Lease:
        """Claim a part of a published offer; `start` and `end` are hours after `START`."""
        first, last = (None if each is None else self.hour(each) for each in (start, end))
        from leasehold.features.lending.claim import claim_offer  # noqa: PLC0415 - the core's tests run without it
        from leasehold.features.lending.published_offer import ClaimDraft  # noqa: PLC0415 - likewise

        draft = ClaimDraft("claimed", first, last, fingerprint=f"{offer.id} {start} {end} {more}", **more)
        return claim_offer(self.service, caller, offer.id, draft, key)

    def free(self, offer: PublishedOffer) -> list[tuple[float, float]]:
        """Return what of a published offer can be claimed, in hours after `START`."""
        from leasehold.features.lending.publish import free_of_offer, get_published  # noqa: PLC0415 - the core's tests run without it

        found = free_of_offer(self.service, get_published(self.service, offer.id, None))
        return [((each.start - START) / timedelta(hours=1), (each.end - START) / timedelta(hours=1)) for each in found]

    def enable(self, *labels: str) -> None:
        self.disable(*labels, disabled=False)

    def delete(self, lease: Lease) -> None:
        delete.delete_lease(self.service, lease.id)

    def get(self, lease: Lease) -> Lease:
        return queries.get_lease(self.service, lease.id)

    def status(self, lease: Lease) -> str:
        """Return the present status of a lease."""
        return str(self.get(lease).status)

    def reason(self, lease: Lease) -> str:
        """Return the present status reason of a lease; an empty text when there is none."""
        return self.get(lease).status_reason or ""

    def statuses(self, lease: Lease) -> list[str]:
        """Return the present statuses of a lease's reservations."""
        return [str(part.status) for part in self.get(lease).reservations]

    def event(self, lease: Lease, kind: EventType) -> Event:
        """Return the present state of an event that the lease has."""
        found = self.get(lease).event(kind)
        assert found is not None
        return found

    def part(self, lease: Lease, position: int = 0) -> Reservation:
        """Return the present state of one reservation of a lease."""
        wanted = lease.reservations[position].id
        return next(part for part in self.get(lease).reservations if part.id == wanted)

    def told(self, lease: Lease) -> list[tuple[str, str]]:
        """Return type and status of the lease's events, in order."""
        query = select(outbox).where(outbox.c.lease_id == lease.id).order_by(outbox.c.id)
        with self.service.db.reading() as connection:
            return [(row.event_type, row.payload["status"]) for row in connection.execute(query)]

    def exists(self, lease: Lease) -> bool:
        return any(each.id == lease.id for each in list(queries.each_lease(self.service, None)))

    def holds(self, lease: Lease, position: int = 0) -> dict[str, int]:
        """Return the live allocations of a reservation, as slots by resource label."""
        with self.service.db.reading() as connection:
            found = {
                resource.number: resource.label
                for kind in (HOST, FLOATING_IP)
                for resource in list_resources(connection, kind)
            }
        lease = self.get(lease)
        slots: dict[str, int] = {}
        for held in live(lease, self.part(lease, position)):
            label = found[held.resource_number]
            slots[label] = slots.get(label, 0) + held.slots
        return slots

    def members(self, name: str) -> set[str]:
        """Return the service hosts of an aggregate; an empty set when it does not exist."""
        aggregate = self.cloud.aggregates.get(name)
        return set(aggregate.hosts) if aggregate else set()

    def fail(self, name: str) -> None:
        """Mark a host down in the cloud, and run one health check."""
        self.cloud.hypervisors.fail(name)
        monitor.check_once(self.service)

    def recover(self, name: str) -> None:
        self.cloud.hypervisors.recover(name)
        monitor.check_once(self.service)

    def listed(self) -> list[Resource]:
        """Return the enrolled hosts in their present state."""
        return list(queries.list_resources(self.service, HOST))

    def heal(self) -> int:
        return heal.heal_leases(self.service)


def live(lease: Lease, part: Reservation) -> list[Any]:
    """Return the allocations of a reservation that last to the end of its lease; independent of the code under test."""
    end = int(lease.window.end.timestamp())
    return [
        held
        for held in part.allocations
        if held.released_at is None
        and held.left_at is None
        and held.window.end > held.window.start
        and int(held.window.end.timestamp()) >= end
    ]


def make_schema(url: str) -> None:
    """Create the tables of Leasehold and of the sandbox in an empty database, and plant the sandbox."""
    engine = open_engine(url)
    schema.upgrade(engine)
    seed.plant(engine)
    engine.dispose()


@cache
def planted_database() -> Path:
    """Return an SQLite file made by `make_schema`. Tests copy it, because making one takes longer than most tests."""
    folder = tempfile.TemporaryDirectory(prefix="leasehold-planted-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "leasehold.db"
    make_schema(f"sqlite:///{path}")
    return path


def open_service(url: str, *, clock: Clock, settings: Settings | None = None) -> World:
    """Return a service on a database that already has its tables, as another process would open it.

    Connections have a timeout of 60 s, so that a machine that stalls for some seconds does not fail the test.
    """
    engine = open_engine(url, settings=replace(PATIENT, connect_timeout=60), region="RegionOne")
    watch_locks(engine)
    share_statements(engine)
    cloud = sandbox(engine, clock=clock.now)
    wanted = settings or AT_ONCE
    db = Database(engine)
    service = Service(
        db=db,
        calendars=Calendars(),
        types=TYPES,
        cloud=cloud,
        settings=wanted,
        enforcement=load_filters(wanted.leases),
        now=clock.now,
        steady=lambda: 0.0,
        sources=sources(),
        listeners=listeners(db),
        ways=ways(),
        clauses=clauses(wanted),
        estimators=estimators(wanted),
        records=records(wanted),
        stays=stays(),
        owns=owns(),
    )
    return World(service, cloud, clock, engine)


@contextmanager
def make_service(
    where: Path | str,
    *,
    clock: Clock | None = None,
    settings: Settings | None = None,
    hosts: Iterable[str] = (),
    addresses: Iterable[int] = (),
) -> Iterator[World]:
    """Yield a new service on SQLite in a folder or at a database URL, with these hosts and addresses enrolled."""
    names, lasts, clock = tuple(hosts), tuple(addresses), clock or Clock()
    if isinstance(where, Path):
        made = enrolled_database(clock.now(), settings, names, lasts) if names or lasts else planted_database()
        with made_service(made, where, clock, settings) as world:
            yield world
        return
    make_schema(where)
    world = open_service(where, clock=clock, settings=settings)
    world.enrol(*names)
    world.enrol_addresses(*lasts)
    try:
        yield world
    finally:
        world.engine.dispose()


@contextmanager
def made_service(made: Path, where: Path, clock: Clock, settings: Settings | None = None) -> Iterator[World]:
    """Yield a service on a copy, in a folder, of an SQLite database that was made before."""
    world = open_service(f"sqlite:///{shutil.copy(made, where / 'leasehold.db')}", clock=clock, settings=settings)
    for kind, found in ((HOST, world.hosts), (FLOATING_IP, world.addresses)):
        found.update({each.label: each for each in queries.list_resources(world.service, kind)})
    try:
        yield world
    finally:
        world.engine.dispose()


_ENROLLED: dict[tuple[object, ...], Path] = {}


def enrolled_database(
    moment: datetime, settings: Settings | None, hosts: tuple[str, ...], addresses: tuple[int, ...]
) -> Path:
    """Return an SQLite file in which these were enrolled at this moment; tests copy it, as `planted_database`."""
    key = (moment, repr(settings), hosts, addresses)
    if key not in _ENROLLED:
        path = planted_database().with_name(f"{len(_ENROLLED)}.db")
        shutil.copy(planted_database(), path)
        world = open_service(f"sqlite:///{path}", clock=Clock(moment), settings=settings)
        world.enrol(*hosts)
        world.enrol_addresses(*addresses)
        world.engine.dispose()
        _ENROLLED[key] = path
    return _ENROLLED[key]


# ---------------------------------------------------------------- the manager, step by step


def claim_one(world: World) -> Claim | None:
    """Claim the task that has been due the longest, as a worker does; return None when no task is due."""
    lasts = timedelta(seconds=world.service.settings.manager.claim_seconds)
    claims = world.service.db.transact(lambda connection: claim_tasks(connection, uuid4().hex, world.now(), lasts, 1))
    return claims[0] if claims else None


def run_manager(world: World, most: int | None = None) -> int:
    """Run the tasks that are due now, at most `most`, and return how many ran; the clock does not move."""
    done = 0
    while most is None or done < most:
        claim = claim_one(world)
        if claim is None:
            break
        _run_task(world, claim)
        done += 1
        assert done < ENDLESS, "the manager runs in an endless loop"
    return done


def _run_task(world: World, claim: Claim) -> None:
    try:
        run_task(world.service, claim)
    except CloudError as error:
        # A worker postpones a task that raises any error; here, any error but a CloudError is a bug and fails the test.
        due, reason = world.now() + timedelta(seconds=1), str(error)
        world.service.db.transact(lambda connection: postpone_task(connection, claim, due, reason))


def at_call(world: World, number: int, work: Callable[[], Any], during: Callable[[], Any], verb: str = "*") -> int:
    """Run `work`, and run `during` at its cloud call with this number; return how many such calls `work` made."""
    calls: list[float] = []
    slow = Fault(verb, latency_ms=1)

    def sleep(seconds: float) -> None:
        calls.append(seconds)
        if len(calls) == number:
            world.cloud.faults.clear()
            during()
            world.cloud.faults.set(slow)

    world.cloud.faults.set(slow)
    world.cloud.faults._sleep = sleep
    try:
        work()
    finally:
        world.cloud.faults.clear()
    return len(calls)


def dies_at(world: World, number: int, work: Callable[[], Any], verb: str = "*") -> bool:
    """Run `work`, and die at its cloud call with this number; return whether it made so many."""

    def die() -> None:
        raise Killed

    try:
        at_call(world, number, work, die, verb)
    except Killed:
        return True
    return False


def work_once(world: World) -> None:
    """Run the next due task as a worker whose first error ends it."""
    claim = claim_one(world)
    assert claim is not None, "no task is due"
    run_task(world.service, claim)


def during_a_step(world: World, work: Callable[[], Any]) -> None:
    """Run the next due task, and call `work` during its first call to the cloud."""
    assert at_call(world, 1, lambda: work_once(world), work)


def killed_in_a_step(world: World, verb: str = "*") -> None:
    """Run the next due task, and die at its first call of this verb."""
    assert dies_at(world, 1, lambda: work_once(world), verb), f"the step made no call of {verb}"


def run_until(world: World, moment: datetime) -> None:
    """Move the clock to a moment, and run every task at the time it becomes due."""
    while True:
        run_manager(world)
        due = next_moment_of_work(world)
        if due is None or due > moment:
            break
        world.clock.set(due)
    world.clock.set(moment)
    run_manager(world)


def run_for(world: World, **parts: float) -> None:
    """Move the clock by a timedelta with these arguments, and run every task at the time it becomes due."""
    run_until(world, world.now() + timedelta(**parts))


def next_moment_of_work(world: World) -> datetime | None:
    """Return when the next task can be claimed: it is due, and no earlier claim on it is still valid."""
    query = select(tasks.c.due_at, tasks.c.claim_until).where(tasks.c.due_at.is_not(None), tasks.c.kind != END_NOTICE)
    with world.service.db.reading() as connection:
        rows = connection.execute(query).all()
    moments = [
        max(row.due_at, row.claim_until + timedelta(microseconds=1)) if row.claim_until else row.due_at for row in rows
    ]
    return min(moments, default=None)


def run_until_refused_often(world: World) -> None:
    """Run for a minute while the cloud refuses: enough attempts that the lease reports the refusal in its status."""
    run_for(world, minutes=1)


# ---------------------------------------------------------------- requests


def hosts(least: int = 1, most: int | None = None, **more: Any) -> dict[str, Any]:
    """Return a request for whole hosts."""
    asked = {"min": least, "max": most or least, "hypervisor_properties": "", "resource_properties": ""}
    return {"resource_type": "physical:host", **asked, **more}


def instances(amount: int = 1, vcpus: int = 1, **more: Any) -> dict[str, Any]:
    """Return a request for instances of one size."""
    size = {"vcpus": vcpus, "memory_mb": 512, "disk_gb": 1}
    asked = {"amount": amount, "affinity": None, "resource_properties": ""}
    return {"resource_type": "virtual:instance", **size, **asked, **more}


def flavors(amount: int = 1, flavor: str = "m1.small", **more: Any) -> dict[str, Any]:
    """Return a request for instances of an existing flavor."""
    return {"resource_type": "flavor:instance", "flavor_id": flavor, "amount": amount, "affinity": None, **more}


def floating_ips(amount: int = 1, **more: Any) -> dict[str, Any]:
    """Return a request for addresses of the sandbox's network."""
    return {"resource_type": "virtual:floatingip", "network_id": NETWORK, "amount": amount, **more}
