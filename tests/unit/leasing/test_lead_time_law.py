"""Laws of the lead time, on random histories against plain books: what is granted, what is held, and what is ready."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.features.availability.use import AvailabilityQuestion, availability_of
from leasehold.leasing.create import create_lease, try_creation
from leasehold.leasing.reading.queries import each_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InUseError, InvalidInputError, NotEnoughError
from leasehold.model.resource import FLOATING_IP, HOST
from leasehold.model.states import EventType
from leasehold.model.windows import Window, from_seconds
from tests.factory import ALT, DEMO, Clock, floating_ips, hosts, instances, make_service, run_for
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06")
ADDRESSES = (200, 201)
MINUTE = timedelta(minutes=1)
LEADS = st.sampled_from([0, 3, 10])
PARTS = (
    (hosts(1),),
    (hosts(2),),
    (hosts(3),),
    (floating_ips(1),),
    (floating_ips(2),),
    (hosts(1), floating_ips(1)),
    (hosts(1), hosts(1)),
)
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.integers(0, 60), st.integers(1, 20), st.integers(0, len(PARTS) - 1)),
        st.tuples(st.just("lease"), st.integers(0, 30), st.integers(1, 20), st.integers(0, len(PARTS) - 1)),
        st.tuples(st.just("amend"), st.integers(-15, 15), st.integers(-15, 15), st.integers(0, 9)),
        st.tuples(st.just("delete"), st.just(0), st.just(0), st.integers(0, 9)),
        st.tuples(st.just("pass"), st.integers(1, 15), st.just(0), st.just(0)),
    ),
    min_size=5,
    max_size=15,
)


class History:
    """A service on which moves are made. Its books are the windows that it has promised, read from the database."""

    def __init__(self, world: World, of_hosts: int, of_addresses: int) -> None:
        by_type = {HOST: of_hosts * MINUTE, FLOATING_IP: of_addresses * MINUTE}
        # Without late binding, what is free is what nobody has.
        leases = replace(world.service.settings.leases, lead_time_by_type=by_type, rebinding_seconds=0.0)
        self.world, self.by_type = world.with_settings(leases=leases), by_type
        self.ready_by: dict[str, datetime] = {}

    def move(self, what: str, first: int, second: int, which: int) -> None:
        if what == "lease":
            start = self.minute + first * MINUTE
            self.ask(Window(start, start + second * MINUTE), which)
        elif what == "pass":
            run_for(self.world, minutes=first)
        elif leases := self.leases():
            lease = leases[which % len(leases)]
            if what == "delete":
                self.world.delete(lease)
            else:
                self.amend(lease, first * MINUTE, second * MINUTE)
        run_for(self.world, seconds=1)
        self.check()

    @property
    def minute(self) -> datetime:
        """The next whole minute."""
        return from_seconds(-(-int(self.world.now().timestamp()) // 60) * 60)

    def leases(self) -> list[Lease]:
        return [self.world.get(each) for each in list(each_lease(self.world.service, None))]

    def held(self) -> list[Allocation]:
        parts = [part for lease in self.leases() for part in lease.reservations]
        return [each for part in parts for each in part.allocations if each.released_at is None]

    def reserved(self, window: Window, which: int) -> Window:
        """Return what a lease of these reservations reserves: the longest lead, and nothing before now."""
        lead = max(self.by_type[part["resource_type"]] for part in PARTS[which])
        return Window(min(max(window.start - lead, self.world.now()), window.start), window.end)

    def free(self, window: Window, pool: str) -> int:
        """Return how many resources of a pool nobody has at any moment of the window."""
        taken = {
            each.resource_number
            for each in self.held()
            if each.pool == pool and each.window.start < window.end and each.window.end > window.start
        }
        every = self.world.hosts if pool == "hosts" else self.world.addresses
        return len([each for each in every.values() if each.number not in taken])

    def fits(self, window: Window, which: int) -> bool:
        wanted = {"hosts": 0, "floatingips": 0}
        for part in PARTS[which]:
            pool = "hosts" if part["resource_type"] == HOST else "floatingips"
            wanted[pool] += int(part["amount"] if pool == "floatingips" else part["min"])
        reserved = self.reserved(window, which)
        return all(amount <= self.free(reserved, pool) for pool, amount in wanted.items())

    def ask(self, window: Window, which: int) -> None:
        """Ask for a lease: it is granted if it fits; else the first window from then on that fits is offered."""
        caller = DEMO if which % 2 else ALT
        draft = LeaseDraft("asked", window.start, window.end, reservations=PARTS[which])
        fits = self.fits(window, which)
        try:
            lease = try_creation(self.world.service, caller, draft)
        except NotEnoughError as error:
            assert not fits
            nearest = error.refusal.nearest
            assert nearest is not None
            later = window.start
            while not self.fits(Window(later, later + window.duration), which):
                later += MINUTE
            assert (nearest.start, nearest.duration) == (later, window.duration)
            self.ask(nearest, which)
            return
        assert fits
        reserved = self.reserved(window, which)
        lease = self.world.get(create_lease(self.world.service, caller, draft))
        assert {each.window for part in lease.reservations for each in part.allocations} == {reserved}
        self._note(lease)

    def amend(self, lease: Lease, start: timedelta, end: timedelta) -> None:
        begin = lease.window.start + start
        moved = {} if lease.reached(EventType.START) else {"start": begin}
        try:
            after = self.world.amend(lease, end=lease.window.end + end, **moved)
        except (NotEnoughError, InUseError, InvalidInputError):
            assert self.world.get(lease) == lease
            return
        self._note(after)

    def _note(self, lease: Lease) -> None:
        """Note when a lease is ready: at its start, or a second after now where that is later."""
        self.ready_by[lease.id] = max(lease.window.start, self.world.now() + timedelta(seconds=1))

    def check(self) -> None:
        """Check that nobody has what another one has, that each lease is ready at its start, and the audit."""
        now = self.world.now()
        for lease in self.leases():
            if self.ready_by[lease.id] <= now < lease.window.end:
                assert lease.status == "ACTIVE"
            start = lease.event(EventType.START)
            assert start is not None
            assert start.time is not None
            if now < start.time and lease.window.duration:
                assert lease.status == "PENDING"
                assert {each.window.start for each in self.held() if each.lease_id == lease.id} == {start.time}
        _check_apart(self.held())
        audit(self.world, leads=self.by_type.values())


def _check_apart(held: Sequence[Allocation]) -> None:
    rows = sorted((each for each in held if each.window.duration), key=lambda each: (each.resource_number, each.window))
    for one, other in itertools.pairwise(rows):
        assert one.resource_number != other.resource_number or one.window.end <= other.window.start


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(of_hosts=LEADS, of_addresses=LEADS, moves=MOVES)
def test_what_fits_with_its_lead_is_granted_and_ready_and_nobody_has_what_another_one_has(
    tmp_path_factory: pytest.TempPathFactory,
    of_hosts: int,
    of_addresses: int,
    moves: list[tuple[str, int, int, int]],
) -> None:
    path: Path = tmp_path_factory.mktemp("leads")
    with make_service(path, clock=Clock(), hosts=HOSTS, addresses=ADDRESSES) as made:
        history = History(made, of_hosts, of_addresses)
        history.world.hosts.update(made.hosts)
        history.world.addresses.update(made.addresses)
        for each in moves:
            history.move(*each)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lead=st.integers(0, 4),
    there=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 4)), max_size=5),
    passed=st.integers(0, 8),
)
def test_a_lease_gets_at_each_moment_what_availability_says(
    tmp_path_factory: pytest.TempPathFactory, lead: int, there: list[tuple[int, int]], passed: int
) -> None:
    with make_service(tmp_path_factory.mktemp("leads"), clock=Clock(), hosts=HOSTS) as made:
        leases = replace(made.service.settings.leases, lead_time_by_type={HOST: lead * MINUTE}, rebinding_seconds=0.0)
        world = made.with_settings(leases=leases)
        for begin, length in there:
            if availability_at(world, world.now() + begin * MINUTE, length):
                world.lease(hosts(1), start=begin / 60, end=(begin + length) / 60)
        run_for(world, minutes=passed)
        question = AvailabilityQuestion(instances(1), world.now(), world.now() + 20 * MINUTE)
        found = availability_of(world.service, DEMO, replace(question, reservation=hosts(1)))
        steps = dict(zip(found.moments, found.free, strict=True))
        free = 0
        for minute in range(20):
            moment = world.now() + minute * MINUTE
            free = steps.get(int(moment.timestamp()), free)
            assert granted(world, moment, free) == free


def availability_at(world: World, moment: datetime, length: int) -> int:
    found = availability_of(world.service, DEMO, AvailabilityQuestion(hosts(1), moment, moment + length * MINUTE))
    return found.throughout or 0


def granted(world: World, moment: datetime, free: int) -> int:
    """Return how many hosts a lease of a second gets at a moment, looking at one more than are said to be free."""
    draft = LeaseDraft("second", moment, moment + timedelta(seconds=1), reservations=(hosts(1, free + 1),))
    try:
        lease = try_creation(world.service, DEMO, draft)
    except NotEnoughError:
        return 0
    return sum(len(part.allocations) for part in lease.reservations)
