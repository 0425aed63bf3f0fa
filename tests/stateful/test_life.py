"""Stateful test of the whole service: after random actions, faults and delays, database and cloud agree.

Runs 40 short examples by default. With LEASEHOLD_SOAK set to a number, runs that many long ones.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import select

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.faults import Fault
from leasehold.conf.settings import ManagerSettings, Settings
from leasehold.db.tables import tasks
from leasehold.db.task import LEASE
from leasehold.db.work import work_of
from leasehold.features.audit.cloud import Pace
from leasehold.features.audit.cloud import audit_cloud as leasehold_audit_cloud
from leasehold.features.audit.job import reconcile
from leasehold.features.held_offer import use as held_offer
from leasehold.features.held_offer.options import OfferSettings
from leasehold.leasing import create
from leasehold.leasing.lapse import release_late
from leasehold.leasing.reading import queries
from leasehold.manager import monitor
from leasehold.manager.task_runner import run_task
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import LeaseholdError, NotEnoughError
from leasehold.model.resource import HOST
from leasehold.model.states import EventStatus, LeaseStatus
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import to_minute
from leasehold.resource_types.slots.names import child_provider, resource_class
from tests import factory
from tests.factory import DEMO, Clock, Killed, World, claim_one, next_moment_of_work, run_manager
from tests.harness.mix import HOSTS
from tests.harness.stage import ADDRESSES
from tests.refused import promised
from tests.stateful.audit import audit, audit_cloud, cloud_state
from tests.stateful.holdings import misrecorded, note_holdings, tell_the_time
from tests.stateful.moves import forbidden_moves, note_moves
from tests.stateful.past import Past
from tests.stateful.shown import Shown
from tests.stateful.usage import mistold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation

# The cloud is audited after each step of each example, which takes minutes on a busy machine.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SOAK = int(os.environ.get("LEASEHOLD_SOAK", "0"))
STEP = timedelta(minutes=30)
LONG = timedelta(days=30)
FAULTY = (
    "*",
    "aggregates.*",
    "aggregates.add_host",
    "aggregates.remove_host",
    "flavors.*",
    "providers.*",
    "networks.*",
    "servers.*",
    "providers.set_inventory",
    "flavors.grant",
    "networks.create_floating_ip",
    "aggregates.delete",
)

WHERE = st.sampled_from(["", "", '[">=", "$vcpus", "8"]', '["==", "$rack", "r1"]'])
HOST_REQUESTS = st.builds(
    lambda least, more, where: factory.hosts(least, least + more, resource_properties=where),
    st.integers(1, 3),
    st.integers(0, 2),
    WHERE,
)
INSTANCE_REQUESTS = st.builds(
    lambda amount, vcpus, affinity, where: factory.instances(
        amount, vcpus, affinity=affinity, resource_properties=where
    ),
    st.integers(1, 12),
    st.integers(1, 4),
    st.sampled_from([None, None, True, False]),
    WHERE,
)
FLAVOR_REQUESTS = st.builds(factory.flavors, st.integers(1, 4), st.sampled_from(["m1.small", "m1.medium", "g1.large"]))
ADDRESS_REQUESTS = st.builds(
    lambda amount, named: factory.floating_ips(amount, required_floatingips=named),
    st.integers(1, 3),
    st.sampled_from([[], [], ["203.0.113.201"]]),
)
REQUESTS = st.one_of(HOST_REQUESTS, HOST_REQUESTS, INSTANCE_REQUESTS, FLAVOR_REQUESTS, ADDRESS_REQUESTS)
STEPS = st.sampled_from([0, 0, 1, 2, 3, 4, 6])
CHOICE = st.integers(0, 99)

AT_ONCE = Pace(wait=lambda _seconds: None)
SETTINGS = Settings(
    manager=ManagerSettings(healing_interval=timedelta(minutes=90), failure_grace_seconds=0),
).having(OfferSettings(longest_hold=8 * STEP))
CLEANING = replace(SETTINGS, leases=replace(SETTINGS.leases, cleaning_time=timedelta(minutes=10)))


@lru_cache
def template() -> Path:
    """Return a database in which the hosts and addresses are enrolled; every example starts with a copy."""
    folder = Path(tempfile.mkdtemp(prefix="leasehold-stateful-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with factory.make_service(folder, addresses=ADDRESSES) as world:
        world.enrol(*HOSTS[:3], rack="r1")
        world.enrol(*HOSTS[3:], rack="r2")
        note_moves(world.engine)
        note_holdings(world.engine)
    return folder / "leasehold.db"


class Life(RuleBasedStateMachine):
    """A state machine of one service: its rules are actions of users, hosts, the cloud, time and the manager."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="leasehold-life-"))
        shutil.copyfile(template(), self.folder / "leasehold.db")
        self.clock = Clock()
        self.faulty = False
        self.past = Past()
        self.shown = Shown()
        self.settings = SETTINGS
        self.world = self._open()
        self.beginning = cloud_state(self.world.engine)

    def _open(self) -> World:
        world = factory.open_service(f"sqlite:///{self.folder}/leasehold.db", clock=self.clock, settings=self.settings)
        tell_the_time(world.engine, self.clock.now)
        world.cloud.faults._sleep = self._slow
        self.countdown = 0
        return world

    def _slow(self, _seconds: float) -> None:
        """Replace the sleep of a slow call; raise Killed when the countdown reaches 0."""
        self.countdown -= 1
        if self.countdown == 0:
            raise Killed

    def _leases(self) -> list[Lease]:
        return self._by_creation(list(queries.each_lease(self.world.service, None)))

    def _by_creation(self, found: Iterable[Lease]) -> list[Lease]:
        """Return leases in order of creation, by task id: lease ids are random, and the clock stands still."""
        with self.world.service.db.reading() as connection:
            made = {subject: number for number, subject in connection.execute(select(tasks.c.id, tasks.c.subject))}
        return sorted(found, key=lambda lease: made[lease.id])

    def _some_lease(self, choice: int) -> Lease | None:
        """Return a lease with its allocations, which a list leaves out."""
        leases = self._leases()
        return self.world.get(leases[choice % len(leases)]) if leases else None

    def _minute(self) -> datetime:
        return to_minute(self.clock.now())

    def _attempt(self, work: Any) -> LeaseholdError | None:
        """Call `work`; return its error, which must leave the database unchanged, or None.

        What lapsed offers hold is released before, because a refusal does that, too.
        """
        release_late(self.world.service)
        before = promised(self.world)
        try:
            work()
        except LeaseholdError as error:
            assert promised(self.world) == before
            return error
        return None

    @initialize(
        cleaning=st.booleans(), asked=st.lists(st.lists(REQUESTS, min_size=1, max_size=2), min_size=1, max_size=4)
    )
    def begin(self, *, cleaning: bool, asked: list[list[dict[str, Any]]]) -> None:
        self.settings = CLEANING if cleaning else SETTINGS
        self.restart()
        for number, parts in enumerate(asked):
            self.create(parts, number // 2, 6)
        run_manager(self.world)

    # ------------------------------------------------------------ users

    @rule(asked=st.lists(REQUESTS, min_size=1, max_size=3), wait=STEPS, length=st.integers(1, 6))
    def create(self, asked: list[dict[str, Any]], wait: int, length: int) -> None:
        start = self._minute() + wait * STEP
        draft = LeaseDraft("lease", start, start + length * STEP, reservations=tuple(asked))
        refused = self._attempt(lambda: create.create_lease(self.world.service, DEMO, draft))
        if isinstance(refused, NotEnoughError):
            self._check_honest(draft, refused)

    @rule(
        asked=st.lists(REQUESTS, min_size=1, max_size=2),
        ahead=st.sampled_from([0, 0, 0, 2]),
        length=st.integers(1, 6),
        retries=st.none() | st.integers(1, 3),
    )
    def create_or_wait(self, asked: list[dict[str, Any]], ahead: int, length: int, retries: int | None) -> None:
        """Ask for a lease that waits where it cannot be granted: with a number of tries, or with a deadline."""
        start = self._minute() + ahead * STEP
        draft = LeaseDraft("lease", start, start + length * STEP, reservations=tuple(asked))
        if retries is None:
            draft = replace(draft, type=LeaseType.WAITLIST, deadline=self.clock.now() + 4 * STEP)
        else:
            draft = replace(draft, type=LeaseType.RETRY, retries=retries)
        refused = self._attempt(lambda: create.create_lease(self.world.service, DEMO, draft))
        assert not isinstance(refused, NotEnoughError)

    @rule(
        asked=st.lists(REQUESTS, min_size=1, max_size=2), wait=STEPS, length=st.integers(1, 6), hold=st.integers(1, 4)
    )
    def offer(self, asked: list[dict[str, Any]], wait: int, length: int, hold: int) -> None:
        start = self._minute() + wait * STEP
        draft = LeaseDraft("offer", start, start + length * STEP, reservations=tuple(asked), hold=hold * STEP)
        self._attempt(lambda: held_offer.make_offer(self.world.service, DEMO, draft))

    @rule(which=CHOICE, give_up=st.booleans())
    def answer(self, which: int, *, give_up: bool) -> None:
        """Accept an open offer, which never fails and gives what it shows; or give it up."""
        offers = self._by_creation(held_offer.list_offers(self.world.service, None))
        if not offers:
            return
        offered = held_offer.get_offer(self.world.service, offers[which % len(offers)].id)
        if give_up:
            held_offer.give_up_offer(self.world.service, offered.id)
            return
        held_offer.accept_offer(self.world.service, offered.id)
        lease = self.world.get(offered)
        assert (lease.window, lease.reservations) == (offered.window, offered.reservations)

    def _check_honest(self, draft: LeaseDraft, refused: NotEnoughError) -> None:
        """Check that what a refusal offers is granted for the whole lease.

        And that one more than the largest amount is refused, where the lease has no other reservation, unless other
        leases make room for it: what is offered is found without that.
        """
        nearest, largest = refused.refusal.nearest, refused.refusal.largest
        position = int(re.findall(r"reservations\[(\d+)\]", refused.field or "")[0])
        asked = draft.reservations[position]
        assert largest < refused.refusal.asked
        if self.faulty:
            return
        if nearest is not None:
            self._try_out(replace(draft, start=nearest.start, end=nearest.end))
        if asked.get("required_floatingips"):
            return
        if largest:
            self._try_out(replace(draft, reservations=_with_amount(draft, position, largest)))
        if len(draft.reservations) == 1:
            more = replace(draft, reservations=_with_amount(draft, position, largest + 1))
            still = _without_moves(self.world.service)
            assert self._attempt(lambda: create.create_lease(still, DEMO, more)) is not None

    def _try_out(self, draft: LeaseDraft) -> None:
        self.world.delete(create.create_lease(self.world.service, DEMO, draft))

    @rule(
        which=CHOICE,
        start=st.none() | STEPS,
        end=st.none() | st.integers(0, 8),
        warning=st.none() | STEPS,
        name=st.none() | st.just("other"),
        parts=st.none() | st.lists(REQUESTS, max_size=2),
    )
    def amend(
        self,
        which: int,
        start: int | None,
        end: int | None,
        warning: int | None,
        name: str | None,
        parts: list[dict[str, Any]] | None,
    ) -> None:
        lease = self._some_lease(which)
        if lease is None:
            return
        moments = {"start": start, "end": end, "before_end": warning}
        changes: dict[str, Any] = {
            key: self._minute() + steps * STEP for key, steps in moments.items() if steps is not None
        }
        if parts is not None:
            changes["reservations"] = tuple(self._changes(lease, parts))
        if name is not None:
            changes["name"] = name
        refused = self._amend(lease, **changes)
        if not changes or set(changes) == {"name"}:
            busy = lease.status in ("STARTING", "TERMINATING", "DELETING")
            assert (refused is not None) == busy, (lease.status, refused)

    @rule(which=CHOICE, later=st.integers(1, 4))
    def prolong(self, which: int, later: int) -> None:
        lease = self._some_lease(which)
        if lease is not None:
            self._amend(lease, end=lease.window.end + later * STEP)

    @rule(which=CHOICE)
    def end_now(self, which: int) -> None:
        lease = self._some_lease(which)
        if lease is not None:
            self._attempt(lambda: self.world.amend(lease, end=self._minute()))

    def _amend(self, lease: Lease, **changes: Any) -> LeaseholdError | None:
        """Amend a lease, and check that each active reservation keeps the slots that it had."""
        before = self._in_use(lease)
        refused = self._attempt(lambda: self.world.amend(lease, **changes))
        after = self.world.get(lease)
        for part in after.reservations if after.window.end > self.clock.now() else ():
            assert before.get(part.id, Counter()) <= _slots(after, part)
        return refused

    @staticmethod
    def _in_use(lease: Lease) -> dict[str, Counter[int]]:
        """Return the slots of each active reservation, by reservation id and resource number."""
        return {part.id: _slots(lease, part) for part in lease.reservations if part.status == "active"}

    @staticmethod
    def _changes(lease: Lease, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return changes of amounts, properties and sizes for the lease's own reservations."""
        return [
            {**changed, "id": part.id, "resource_type": part.resource_type}
            for part, changed in zip(lease.reservations, parts, strict=False)
        ]

    @rule(which=CHOICE, part=CHOICE)
    def drop(self, which: int, part: int) -> None:
        """Drop a reservation: it holds nothing from now on, and the others keep what they have.

        One that lost something may get a replacement for that, as in every amendment.
        """
        lease = self._some_lease(which)
        if lease is None or not lease.kept:
            return
        ident = lease.kept[part % len(lease.kept)].id
        before = {each.id: _slots(lease, each) for each in lease.kept}
        refused = self._attempt(lambda: self.world.amend(lease, drops=frozenset({ident})))
        after = self.world.get(lease)
        if refused is not None or after.window.end <= self.clock.now():
            return
        assert ident not in {each.id for each in after.kept}
        lost = {each.id: each.missing or 0 for each in lease.kept if each.missing_resources and each.id != ident}
        for each in after.reservations:
            kept = Counter() if each.id == ident else before.get(each.id, Counter())
            gained = _slots(after, each)
            gained.subtract(kept)
            assert all(slots >= 0 for slots in gained.values()), (each, kept)
            assert gained.total() <= lost.get(each.id, 0), (each, kept)

    @rule()
    def create_an_empty_lease(self) -> None:
        self.create([], 1, 2)

    @rule(which=CHOICE)
    def delete(self, which: int) -> None:
        lease = self._some_lease(which)
        if lease is not None:
            self.world.delete(lease)

    @rule(which=CHOICE, named=st.sampled_from([True, True, True, False]))
    def swap(self, which: int, *, named: bool = True) -> None:
        """Swap a host: the lease has as many as before, and no server is deleted."""
        held = [
            (lease, part, each.resource_number)
            for lease in map(self.world.get, self._leases())
            for part in lease.reservations
            if part.resource_type == HOST
            for each in factory.live(lease, part)
        ]
        if not held:
            return
        lease, part, old = held[which % len(held)]
        label = {each.number: each.label for each in queries.list_resources(self.world.service, HOST)}[old]
        there = [each.id for each in self.world.cloud.servers.all() if each.service_host == label]
        servers = there if named and lease.status == "ACTIVE" else []
        before = self.world.servers()
        error = self._attempt(lambda: self.world.swap(lease, None, *servers, host=label))
        assert self.world.servers() == before
        if error is None:
            assert lease.status == "PENDING" or servers == there
            self._check_swapped(lease, part, old)

    def _check_swapped(self, lease: Lease, before: Reservation, old: int) -> None:
        """Check that a reservation has one other resource, which it has not vacated, and has vacated one at most."""
        after = self.world.get(lease)
        (part,) = (each for each in after.reservations if each.id == before.id)
        had, has = _slots(lease, before), _slots(after, part)
        (new,) = (has - had).elements()
        assert had - has == Counter([old])
        vacated = [each for each in part.allocations if each.left_at is not None]
        assert old in {each.resource_number for each in vacated}
        assert new not in {each.resource_number for each in vacated}
        assert sum(each.released_at is None for each in vacated) <= 1

    @rule(which=CHOICE, how=st.sampled_from(["hint", "flavor", "ordinary"]), other=st.booleans())
    def boot(self, which: int, how: str, *, other: bool) -> None:
        lease = self._some_lease(which)
        parts = lease.reservations if lease else ()
        project = "alt" if other else "demo"
        flavor, hints = "m1.small", []
        if parts and how == "hint":
            hints = [parts[which % len(parts)].id]
        elif parts and how == "flavor":
            flavor = parts[which % len(parts)].id
        with suppress(CloudError):
            self.world.cloud.servers.boot("server", project, flavor, hints)

    # ------------------------------------------------------------ hosts and the cloud

    @rule(which=st.sampled_from(HOSTS))
    def fail(self, which: str) -> None:
        self.world.cloud.hypervisors.fail(which)
        self.look()

    @rule(which=CHOICE)
    def fail_a_leased_host(self, which: int) -> None:
        lease = self._some_lease(which)
        if lease is None:
            return
        parts = [part for part in lease.reservations if part.resource_type != "virtual:floatingip"]
        numbers = [held.resource_number for part in parts for held in factory.live(lease, part)]
        if numbers:
            names = {each.number: each.label for each in queries.list_resources(self.world.service, HOST)}
            self.fail(names[numbers[which % len(numbers)]])

    @rule(which=st.sampled_from(HOSTS))
    def recover(self, which: str) -> None:
        self.world.cloud.hypervisors.recover(which)
        self.look()

    @rule()
    def look(self) -> None:
        with suppress(CloudError):
            monitor.check_once(self.world.service)

    @rule(
        verb=st.sampled_from(FAULTY),
        moment=st.sampled_from(["before", "after"]),
        permanent=st.sampled_from([False, False, True]),
        calls=st.none() | st.integers(1, 4),
    )
    def misbehave(self, verb: str, moment: Any, *, permanent: bool, calls: int | None) -> None:
        self.world.cloud.faults.set(Fault(verb, error=moment, permanent=permanent, remaining=calls))
        self.faulty = True

    @precondition(lambda self: self.faulty)
    @rule()
    def behave(self) -> None:
        self.world.cloud.faults.clear()
        self.faulty = False

    @rule(seconds=st.sampled_from([0, 0, 20, 400]))
    def delete_servers_slowly(self, seconds: int) -> None:
        self.world.cloud.servers.take_to("delete", seconds)

    @precondition(lambda self: not self.faulty)
    @rule(which=CHOICE, what=st.sampled_from(["host", "flavor", "class", "address", "pool"]))
    def meddle(self, which: int, what: str) -> None:
        """Change an idle lease's cloud objects by hand; the periodic audit and the manager then repair them."""
        run_manager(self.world)
        cloud = self.world.cloud
        with suppress(CloudError):
            if what == "pool":
                free = sorted(self.world.members("freepool"))
                if free:
                    cloud.aggregates.remove_host("freepool", free[which % len(free)])
            for part in self._at_rest(which):
                if what == "host" and self.world.members(part):
                    cloud.aggregates.remove_host(part, min(self.world.members(part)))
                elif what == "flavor":
                    cloud.flavors.delete(part)
                elif what == "class":
                    cloud.providers.remove_inventory(child_provider(HOSTS[which % len(HOSTS)]), resource_class(part))
                elif what == "address":
                    for address in cloud.networks.list_floating_ips(f"reservation:{part}"):
                        cloud.networks.delete_floating_ip(address.id)
        reconcile(self.world.service, AT_ONCE)
        run_manager(self.world)

    def _at_rest(self, which: int) -> list[str]:
        """Return the reservation ids of a lease if it is PENDING or ACTIVE and its task is idle."""
        lease = self._some_lease(which)
        if lease is None or lease.status not in (LeaseStatus.PENDING, LeaseStatus.ACTIVE):
            return []
        with self.world.service.db.reading() as connection:
            work = work_of(connection, LEASE, lease.id)
        return [] if work is None or work.busy(self.clock.now()) else [part.id for part in lease.reservations]

    # ------------------------------------------------------------ time and the manager

    @rule(minutes=st.integers(1, 150))
    def wait(self, minutes: int) -> None:
        self.clock.advance(minutes=minutes)

    @rule(offset=st.sampled_from([-1, 0, 0, 0, 1, 30]))
    def wait_for_an_event(self, offset: int) -> None:
        moments = [
            event.time
            for lease in self._leases()
            for event in lease.events
            if event.status is EventStatus.UNDONE and event.time is not None and event.time > self.clock.now()
        ]
        if moments:
            self.clock.set(min(moments) + timedelta(seconds=offset))

    @rule()
    def wait_for_work(self) -> None:
        moment = next_moment_of_work(self.world)
        if moment is not None and moment < self.clock.now() + LONG:
            self.clock.set(moment)

    @rule(minutes=st.integers(1, 150))
    def go_on(self, minutes: int) -> None:
        """Advance the clock while the manager runs every due task."""
        factory.run_for(self.world, minutes=minutes)

    @rule(minutes=st.integers(20, 40))
    def go_on_a_little(self, minutes: int) -> None:
        self.go_on(minutes)

    @rule(most=st.none() | st.integers(1, 3))
    def manage(self, most: int | None) -> None:
        run_manager(self.world, most)

    @rule(calls=st.integers(1, 15))
    def crash(self, calls: int) -> None:
        """Kill the manager in the middle of a task, at call number `calls` to the cloud."""
        claim = claim_one(self.world)
        if claim is None:
            return
        self.world.cloud.faults.set(Fault("*", latency_ms=1))
        self.faulty = True
        self.countdown = calls
        with suppress(Killed, CloudError):
            run_task(self.world.service, claim)
        self.behave()
        self.restart()

    @rule(which=CHOICE, what=st.sampled_from(["delete", "amend", "look", "swap"]), calls=st.integers(1, 8))
    def interfere(self, which: int, what: str, calls: int) -> None:
        """Delete or amend a lease, swap a host, or check the hosts, while the manager is in the middle of a task."""
        claim = claim_one(self.world)
        if claim is None:
            return

        def during(_seconds: float) -> None:
            self.countdown -= 1
            if self.countdown == 0:
                moves = {"delete": self.delete, "amend": self.end_now, "swap": self.swap, "look": lambda _: self.look()}
                moves[what](which)

        self.countdown = calls
        self.world.cloud.faults._sleep = during
        self.world.cloud.faults.set(Fault("*", latency_ms=1))
        with suppress(CloudError):
            run_task(self.world.service, claim)
        self.world.cloud.faults.clear()
        self.world.cloud.faults._sleep = self._slow
        self.faulty = False

    @rule()
    def restart(self) -> None:
        """Restart the service: everything in memory is lost."""
        self.world.engine.dispose()
        self.world = self._open()

    @rule()
    def catch_up(self) -> None:
        """Clear all faults and run the manager until only future events are left."""
        self.behave()
        for _attempt in range(60):
            run_manager(self.world)
            moment = self._unfinished()
            if moment is None:
                audit_cloud(self.world)
                return
            self.clock.set(moment)
            audit(self.world)
        left = [(lease.status, lease.status_reason) for lease in self._leases()]
        raise AssertionError(f"the manager still has work after 60 rounds: {left}")

    def _unfinished(self) -> datetime | None:
        """Return when the next work is due, or None if it is only the event or the try of an idle lease."""
        moment = next_moment_of_work(self.world)
        if moment is None:
            return None
        leases = self._leases()
        events = {event.time for lease in leases for event in lease.events}
        events |= {lease.waiting.due for lease in leases if lease.waits and lease.waiting is not None}
        # A dead manager's claim may expire only after the next event of another lease.
        moving = any(lease.status in ("STARTING", "TERMINATING", "DELETING") for lease in leases)
        return None if moment in events and not moving else moment

    # ------------------------------------------------------------ invariants

    @invariant()
    def database_is_sound(self) -> None:
        audit(self.world)
        assert forbidden_moves(self.world.engine) == []
        assert misrecorded(self.world.engine, self.clock.now()) == []
        self.past.look(self.world)
        assert mistold(self.world) == []
        self.shown.look(self.world)

    @precondition(lambda self: not self.faulty)
    @invariant()
    def what_rests_is_as_the_books_want_it(self) -> None:
        """Without faults, the cloud audit finds no drift in idle leases and no false positives in busy ones."""
        found = leasehold_audit_cloud(self.world.service, AT_ONCE)
        assert found == [], found

    def teardown(self) -> None:
        try:
            self.past.check(self.world)
            self.world.cloud.servers.take_to("delete", 0)
            for lease in self._leases():
                self.world.delete(lease)
            self.catch_up()
            audit(self.world)
            assert self._leases() == []
            assert cloud_state(self.world.engine) == _with_health(self.world, self.beginning)
        finally:
            self.world.engine.dispose()
            shutil.rmtree(self.folder, ignore_errors=True)


def _slots(lease: Lease, part: Reservation) -> Counter[int]:
    """Return the slots of a reservation, by resource number."""
    held: Counter[int] = Counter()
    for each in factory.live(lease, part):
        held[each.resource_number] += each.slots
    return held


def _without_moves(service: Service) -> Service:
    """Return a service for which no lease makes room, because each of them starts too soon to be moved."""
    settings = service.settings
    leases = replace(settings.leases, rebind_before_start=timedelta(days=36_500))
    return replace(service, settings=replace(settings, leases=leases))


def _with_amount(draft: LeaseDraft, position: int, amount: int) -> tuple[Mapping[str, Any], ...]:
    """Return the reservations of a draft, of which one asks for another amount."""
    before = draft.reservations
    return (*before[:position], _amounting(before[position], amount), *before[position + 1 :])


def _amounting(asked: Any, amount: int) -> dict[str, Any]:
    if asked["resource_type"] == "physical:host":
        return {**asked, "min": amount, "max": amount}
    return {**asked, "amount": amount}


def _with_health(world: World, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state with the hosts' present health, which Leasehold does not restore."""
    return {**state, "sandbox_hypervisors": cloud_state(world.engine)["sandbox_hypervisors"]}


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=SOAK or 40,
    stateful_step_count=60 if SOAK else 35,
    suppress_health_check=list(HealthCheck),
)
