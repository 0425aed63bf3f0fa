"""A law of the two pools, on random histories with faults and crashes at any call to the cloud (feature E3).

No lease is granted on a host outside the reservation pool. A draw succeeds, or leaves the host as it was. No server is
lost, and nothing of ours is left on a host when nothing is under way. A host is held for a lease only as long as that
waits with a plan, and such a lease is granted or times out (feature A4). A preemptible server is never moved, and ended
only on a host that a lease got (feature K1).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.faults import ERRORS, Fault
from leasehold.conf.settings import CloudSettings
from leasehold.db.allocation import in_use
from leasehold.db.tables import allocations, resources
from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.leasing import create
from leasehold.leasing.reading import queries
from leasehold.leasing.resources import resource
from leasehold.leasing.waiting.holds import is_held
from leasehold.manager.monitor import check_once
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import LeaseholdError
from leasehold.model.membership import Membership
from leasehold.model.resource import HOST
from leasehold.model.terms.lease_type import LeaseType
from leasehold.resource_types.host.enrolment import DRAWS
from tests.factory import AT_ONCE, DEMO, dies_at, flavors, hosts, instances, make_service, run_for, run_manager
from tests.stateful import audit as stateful

if TYPE_CHECKING:
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-09", "cmp-06")
"""Users' servers land on cmp-09 first."""
SETTINGS = replace(AT_ONCE, cloud=CloudSettings(draw_limit=timedelta(minutes=4)))
ASKED = (hosts(1), hosts(2), hosts(1, 3), instances(3), flavors(2))
MOVES = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["reserve", "reserve", "share", "share", "enrol", "enrol_shared"]), st.integers(0, 3)
        ),
        st.tuples(
            st.sampled_from(["lease", "lease", "effort", "effort", "delete", "boot", "boot", "unboot", "remove"]),
            st.integers(0, 9),
        ),
        st.tuples(
            st.sampled_from(["spot", "spot", "unspot"]),
            st.integers(0, 9),
        ),
        st.tuples(st.sampled_from(["disable", "enable", "fail", "recover", "check"]), st.integers(0, 3)),
        st.tuples(st.sampled_from(["slow_moves", "fault", "kill"]), st.integers(0, 40)),
        st.tuples(st.just("pass"), st.integers(1, 40)),
    ),
    min_size=5,
    max_size=25,
)


class History:
    """A service on which moves are made; `servers` are those that users have booted and not deleted.

    `spots` are the hosts of such servers that are preemptible, and `leased` the hosts that leases have got so far.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.servers: list[str] = []
        self.spots: dict[str, str] = {}
        self.leased: set[str] = set()

    def move(self, what: str, number: int) -> None:
        """Make a move, let the manager do what is due, and check that nothing is promised outside the pool."""
        self.world.clock.advance(microseconds=1)
        # A fault may meet a call that a user makes, too.
        with suppress(LeaseholdError, CloudError):
            (self.boot if what == "boot" else getattr(self, f"_{what}"))(number)
        self.check()
        run_manager(self.world, most=3)
        self.check()

    def check(self) -> None:
        world = self.world
        with world.service.db.reading() as connection:
            for each in world.listed():
                assert each.pooled or not in_use(connection, each.number, world.now()), each.label
                assert each.pooled or not each.reservable, each.label
        assert set(self.servers) <= world.servers()
        self.check_spots()
        planned = {each.id for each in list(queries.each_lease(world.service, None)) if is_held(each)}
        assert {each.held_for for each in world.listed() if each.held_for is not None} <= planned

    def check_spots(self) -> None:
        """Check where the preemptible servers are, or were."""
        with self.world.service.db.reading() as connection:
            got = connection.execute(select(resources.c.attributes).join(allocations)).scalars()
            self.leased |= {each["service_name"] for each in got}
        there = {each.id: each.service_host for each in self.world.cloud.servers.all()}
        for ident, host in list(self.spots.items()):
            if ident in there:
                assert there[ident] == host
            else:
                assert self.spots.pop(ident) in self.leased

    def settle(self) -> None:
        """End all faults, let everything that is under way come to its end, and check what is left."""
        world = self.world
        world.cloud.faults.clear()
        for name in HOSTS:
            world.cloud.hypervisors.recover(name)
        # A failed try may be repeated after five minutes only.
        run_for(world, minutes=45)
        check_once(world.service)
        run_for(world, minutes=10)
        self.check()
        assert not [each for each in world.listed() if each.held_for is not None]
        assert not [each for each in list(queries.each_lease(world.service, None)) if each.waits]
        pool = world.members("freepool")
        leased = set().union(*(each.hosts for each in world.cloud.aggregates.list() if each.name != "freepool"))
        for each in world.listed():
            assert not each.membership.moves, each
            assert ((each.label in pool) or (each.label in leased)) == each.pooled, each
            assert each.admitted == each.pooled, each
        assert pool <= {each.label for each in world.listed()}
        assert not world.cloud.providers.claimed(HOSTS)
        assert DRAWS not in {each.disabled_reason for each in world.cloud.hypervisors.list()}
        stateful.audit(world)
        stateful.audit_cloud(world)
        found = audit_cloud(world.service, Pace(between_looks=0, wait=lambda _: None))
        assert not [each for each in found if "servers without a lease" not in each.what], found

    def _name(self, number: int) -> str:
        return HOSTS[number % len(HOSTS)]

    def _reserve(self, number: int) -> None:
        self._ask(number, Membership.RESERVATION)

    def _share(self, number: int) -> None:
        self._ask(number, Membership.SHARED)

    def _ask(self, number: int, pool: Membership) -> None:
        found = [each for each in self.world.listed() if each.label == self._name(number)]
        for each in found:
            resource.change(self.world.service, HOST, each.id, {}, None, pool)

    def _enrol(self, number: int) -> None:
        self.world.enrol(self._name(number))

    def _enrol_shared(self, number: int) -> None:
        self.world.share(self._name(number))

    def _remove(self, number: int) -> None:
        found = [each for each in self.world.listed() if each.label == self._name(number)]
        for each in found:
            resource.remove(self.world.service, HOST, each.id)

    def _lease(self, number: int) -> None:
        hours = (self.world.now() - self.world.hour(0)).total_seconds() // 60 / 60
        self.world.lease(ASKED[number % len(ASKED)], start=hours + number % 2 / 6, end=hours + 1 / 3, caller=DEMO)

    def _effort(self, number: int) -> None:
        start, length = self.world.now().replace(second=0, microsecond=0), timedelta(minutes=15 + number)
        part = hosts(2 + number % 2)
        name, kind = "best effort", LeaseType.BEST_EFFORT
        draft = LeaseDraft(name, start, start + length, reservations=(part,), type=kind)
        if number % 3 == 0:
            draft = replace(draft, deadline=self.world.now() + timedelta(minutes=1 + number))
        create.create_lease(self.world.service, DEMO, draft)

    def _delete(self, number: int) -> None:
        found = list(queries.each_lease(self.world.service, None))
        if found:
            self.world.delete(found[number % len(found)])

    def boot(self, number: int) -> None:
        server = self.world.cloud.servers.boot(f"server-{number}", "demo", ("m1.small", "m1.large")[number % 2])
        if server.service_host is not None:
            self.servers.append(server.id)

    def _unboot(self, number: int) -> None:
        if self.servers:
            self.world.cloud.servers.delete(self.servers.pop(number % len(self.servers)))

    def _spot(self, number: int) -> None:
        server = self.world.cloud.servers.boot(f"spot-{number}", "alt", "m1.small", preemptible=True)
        if server.service_host is not None:
            self.spots[server.id] = server.service_host

    def _unspot(self, number: int) -> None:
        if self.spots:
            spot = sorted(self.spots)[number % len(self.spots)]
            # Its user forgets it before the call: the answer may be lost, and the server gone all the same.
            del self.spots[spot]
            self.world.cloud.servers.delete(spot)

    def _disable(self, number: int) -> None:
        self.world.disable(self._name(number))

    def _enable(self, number: int) -> None:
        self.world.enable(self._name(number))

    def _fail(self, number: int) -> None:
        self.world.fail(self._name(number))

    def _recover(self, number: int) -> None:
        self.world.recover(self._name(number))

    def _check(self, _: int) -> None:
        check_once(self.world.service)

    def _slow_moves(self, number: int) -> None:
        self.world.cloud.servers.take_to("migrate", number * 10)

    def _fault(self, number: int) -> None:
        verbs = ("servers.migrate", "hypervisors.*able", "providers.*claim*", "aggregates.*", "*")
        error = ERRORS[1 + number % 4]
        fault = Fault(verbs[number % 5], error=error, permanent=number % 3 == 0, remaining=1 + number % 7)
        self.world.cloud.faults.set(fault)

    def _kill(self, number: int) -> None:
        """Let the manager die at its call with this number, so that its claims have to expire."""
        dies_at(self.world, number, lambda: run_manager(self.world, most=3))
        self.world.cloud.faults.clear()
        self.world.clock.advance(seconds=31)

    def _pass(self, number: int) -> None:
        run_for(self.world, seconds=number * 15)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example([("pass", 1), ("reserve", 0), ("pass", 1), ("fault", 19), ("unspot", 0)])
@given(MOVES)
def test_a_host_is_in_one_pool_or_the_other_and_nothing_is_promised_outside(moves: list[Any]) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), settings=SETTINGS) as plain:
        world = plain.with_preemptibles()
        # The other hosts of the sandbox are nobody's, so that servers have somewhere to go.
        history = History(world)
        world.enrol("cmp-01", "cmp-06", "cmp-09")
        run_manager(world)
        for number in range(2):
            history.move("spot", number)
        assert set(history.spots.values()) == {"cmp-09"}
        world.move("cmp-09", "shared")
        run_manager(world)
        for number in range(4):
            history.boot(number)
        world.cloud.servers.take_to("migrate", 30)
        world.share("cmp-02")
        for each in moves:
            history.move(*each)
        history.settle()
