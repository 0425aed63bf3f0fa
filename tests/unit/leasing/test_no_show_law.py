"""A law of no-shows, on random histories: what is used stays, what is not goes, and nobody loses a server by it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from leasehold.cloud.ports import CloudPermanentError
from leasehold.cloud.sandbox.faults import Fault
from leasehold.leasing.reading import queries
from leasehold.model.errors import LeaseholdError
from leasehold.model.resource import HOST
from leasehold.model.states import EventType, LeaseStatus
from tests.factory import flavors, hosts, instances, make_service, run_for
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

TIMES = (0, 300, 900)
ASKED = (hosts(1), hosts(2), hosts(1, 3), instances(3, affinity=False), instances(2), flavors(2))
HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
VERBS = ("providers.claim_rest", "aggregates.*", "providers.*", "servers.on_*", "servers.with_*")
"""Calls that only the service makes, so that the moves of a history are not disturbed."""
NUMBERS = st.integers(0, 9)
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.sampled_from(ASKED), st.sampled_from(TIMES)),
        st.tuples(st.just("boot"), NUMBERS, st.none()),
        st.tuples(st.just("wait"), st.sampled_from([2, 5, 8, 15]), st.none()),
        st.tuples(st.just("amend"), NUMBERS, st.sampled_from(TIMES)),
        st.tuples(st.just("extend"), NUMBERS, st.integers(1, 4)),
        st.tuples(st.just("break"), st.integers(1, 3), st.sampled_from(VERBS)),
        st.tuples(st.sampled_from(["gone", "delete", "fail", "recover"]), NUMBERS, st.none()),
    ),
    min_size=8,
    max_size=30,
)


class History:
    """A service on which moves are made.

    `booted` are the leases of the servers, by the id of the server; `used` are the hosts on which leases had one.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.booted: dict[str, str] = {}
        self.used: set[tuple[str, str]] = set()

    def move(self, what: str, first: Any, second: Any) -> None:
        """Make a move, let the manager do what is due, and check that no server has died before its lease ended."""
        self.world.clock.advance(microseconds=1)
        with suppress(LeaseholdError):
            getattr(self, f"_{what}")(first, second)
        run_for(self.world, seconds=10)
        alive = {server.id for server in self.world.cloud.servers.all()}
        leases = {each.id: each for each in self._leases()}
        for server, lease_id in list(self.booted.items()):
            lease = leases.get(lease_id)
            if lease is None or lease.window.end <= self.world.now():
                del self.booted[server]
            else:
                assert server in alive, what

    def _leases(self) -> list[Lease]:
        return list(queries.each_lease(self.world.service, None))

    def _some(self, number: int) -> Lease:
        found = self._leases()
        if not found:
            raise LeaseholdError("There is no lease.")
        return found[number % len(found)]

    def _lease(self, asked: Any, seconds: int) -> None:
        start = (self.world.now() - self.world.hour(0)).total_seconds() // 60 / 60
        self.world.lease({**asked, "no_show_seconds": seconds}, start=start, end=start + 2)

    def _boot(self, number: int, _: Any) -> None:
        lease = self._some(number)
        with suppress(CloudPermanentError):
            whole = lease.reservations[0].resource_type == HOST
            flavor, hint = ("m1.small", [lease.reservations[0].id]) if whole else (lease.reservations[0].id, [])
            server = self.world.cloud.servers.boot("server", lease.project_id, flavor, hint)
            if server.service_host is not None:
                self.booted[server.id] = lease.id
                self.used.add((server.service_host, lease.id))

    def _wait(self, minutes: int, _: Any) -> None:
        run_for(self.world, minutes=minutes)

    def _amend(self, number: int, seconds: int) -> None:
        self.world.amend(self._some(number), {"no_show_seconds": seconds})

    def _extend(self, number: int, quarters: int) -> None:
        lease = self._some(number)
        self.world.amend(lease, end=lease.window.end + timedelta(minutes=15 * quarters))

    def _break(self, times: int, verb: str) -> None:
        self.world.cloud.faults.set(Fault(verb, error="after", remaining=times))

    def _gone(self, number: int, _: Any) -> None:
        there = sorted(self.booted)
        if there:
            server = there[number % len(there)]
            del self.booted[server]
            self.world.cloud.servers.delete(server)

    def _delete(self, number: int, _: Any) -> None:
        lease = self._some(number)
        self.booted = {key: value for key, value in self.booted.items() if value != lease.id}
        self.world.delete(lease)

    def _fail(self, number: int, _: Any) -> None:
        self.world.fail(HOSTS[number % len(HOSTS)])

    def _recover(self, number: int, _: Any) -> None:
        self.world.recover(HOSTS[number % len(HOSTS)])

    def check_released(self) -> None:
        """Check that a reservation whose release is over has had a server on all that it has had since the start."""
        names = {each.number: each.attributes["service_name"] for each in self.world.listed()}
        for lease in map(self.world.get, self._leases()):
            (part,), started = lease.reservations, lease.event(EventType.START)
            if lease.status is not LeaseStatus.ACTIVE or part.no_show is None or not part.no_show.done:
                continue
            assert started is not None
            assert started.updated_at is not None
            since = part.no_show.counts_from(started.updated_at)
            held = [each for each in part.allocations if each.released_at is None and each.left_at is None]
            early = {names[each.resource_number] for each in held if each.window.start <= since}
            assert {(name, lease.id) for name in early} <= self.used, held


RELEASED_SUBSTITUTE = [
    ("lease", hosts(1, 3), 0),
    ("fail", 9, None),
    ("amend", 0, 300),
    ("boot", 8, None),
    ("wait", 8, None),
]
"""What healing chose is released: nothing of the lease is other than it was."""


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(moves=MOVES)
@example(RELEASED_SUBSTITUTE)
def test_what_is_used_stays_and_what_is_not_goes(moves: list[Any]) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), hosts=HOSTS) as world:
        history = History(world)
        for each in moves:
            history.move(*each)
            history.check_released()
            audit(world)
        world.cloud.faults.clear()
        run_for(world, hours=12)
        history.check_released()
        assert {each.status for each in list(queries.each_lease(world.service, None))} <= {LeaseStatus.TERMINATED}
        assert world.members("freepool") == {each.attributes["service_name"] for each in world.listed()}
        assert not world.cloud.providers.claimed([each.label for each in world.listed()])
        audit(world)
