"""A law of endings, on random histories: servers live as long as was asked, and what is reserved is not promised."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.cloud.ports import CloudPermanentError
from leasehold.leasing.reading import queries
from leasehold.model.errors import LeaseholdError
from leasehold.model.resource import HOST
from leasehold.model.states import LeaseStatus
from tests.factory import flavors, hosts, instances, make_service, run_for
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

ENDINGS: tuple[dict[str, Any], ...] = (
    {},
    {"grace_seconds": 900},
    {"on_end": "recycle", "recycle_seconds": 1800},
    {"on_end": "recycle", "recycle_seconds": 900, "grace_seconds": 600},
    {"on_end": "give_back"},
)
FOR_EVER = timedelta(days=9999)
ASKED = (hosts(1), hosts(1, 3), instances(3), flavors(2))
HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.sampled_from(ASKED), st.sampled_from(ENDINGS), st.integers(1, 4)),
        st.tuples(
            st.sampled_from(["boot", "gone", "delete", "fail", "recover", "draw"]),
            st.integers(0, 9),
            st.none(),
            st.none(),
        ),
        st.tuples(st.just("amend"), st.integers(0, 9), st.sampled_from(ENDINGS), st.integers(0, 4)),
        st.tuples(st.just("pass"), st.integers(1, 45), st.none(), st.none()),
    ),
    min_size=8,
    max_size=30,
)


class History:
    """A service on which moves are made.

    `booted` are the servers by id, with lease and position; `tails` how long those of a reservation live on.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.booted: dict[str, tuple[str, int]] = {}
        self.tails: dict[str, timedelta] = {}

    def move(self, what: str, first: Any, ending: Any, length: int | None) -> None:
        """Make a move, let the manager do all that is due, and check that no server has died too early."""
        self.world.clock.advance(microseconds=1)
        with suppress(LeaseholdError):
            getattr(self, f"_{what}")(first, ending, length)
        run_for(self.world, seconds=10)
        alive = {server.id for server in self.world.cloud.servers.all()}
        for server, (lease_id, position) in list(self.booted.items()):
            if server not in alive:
                del self.booted[server]
                assert self.world.now() >= self._owed_until(lease_id, position), what

    def _owed_until(self, lease_id: str, position: int) -> datetime:
        found = [each for each in list(queries.each_lease(self.world.service, None)) if each.id == lease_id]
        if not found or found[0].status is LeaseStatus.DELETING:
            return self.world.now()
        return found[0].window.end + self.tails[found[0].reservations[position].id]

    def _lease(self, asked: Any, ending: Any, length: int) -> None:
        start = (self.world.now() - self.world.hour(0)).total_seconds() // 60 / 60
        made = self.world.lease({**asked, **ending}, start=start, end=start + length / 4)
        self._note(made, ending)

    def _note(self, lease: Lease, ending: Any) -> None:
        tail = ending.get("grace_seconds", 0) + ending.get("recycle_seconds", 0)
        gives_back = ending.get("on_end") == "give_back"
        self.tails[lease.reservations[0].id] = FOR_EVER if gives_back else timedelta(seconds=tail)

    def _some(self, number: int) -> Lease:
        found = list(queries.each_lease(self.world.service, None))
        if not found:
            raise LeaseholdError("There is no lease.")
        return found[number % len(found)]

    def _boot(self, number: int, _: Any, __: Any) -> None:
        lease = self._some(number)
        with suppress(CloudPermanentError):
            whole = lease.reservations[0].resource_type == HOST
            flavor, hint = ("m1.small", [lease.reservations[0].id]) if whole else (lease.reservations[0].id, [])
            server = self.world.cloud.servers.boot("server", lease.project_id, flavor, hint)
            if server.service_host is not None:
                assert lease.status is LeaseStatus.ACTIVE, "no server can be booted before the start or after the end"
                self.booted[server.id] = (lease.id, 0)

    def _gone(self, number: int, _: Any, __: Any) -> None:
        there = sorted(self.booted)
        if there:
            server = there[number % len(there)]
            del self.booted[server]
            self.world.cloud.servers.delete(server)

    def _delete(self, number: int, _: Any, __: Any) -> None:
        lease = self._some(number)
        self.booted = {key: value for key, value in self.booted.items() if value[0] != lease.id}
        self.world.delete(lease)

    def _amend(self, number: int, ending: Any, length: int) -> None:
        lease = self._some(number)
        whole = {"on_end": "delete", "grace_seconds": 0, **ending}
        end = self.world.now().replace(second=0, microsecond=0) + timedelta(minutes=15 * length)
        self._note(self.world.amend(lease, whole, end=max(end, lease.window.start)), ending)

    def _fail(self, number: int, _: Any, __: Any) -> None:
        self.world.fail(HOSTS[number % len(HOSTS)])

    def _recover(self, number: int, _: Any, __: Any) -> None:
        self.world.recover(HOSTS[number % len(HOSTS)])

    def _draw(self, number: int, _: Any, __: Any) -> None:
        self.world.move(HOSTS[number % len(HOSTS)], "reservation")

    def _pass(self, minutes: int, _: Any, __: Any) -> None:
        run_for(self.world, minutes=minutes)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(moves=MOVES)
def test_servers_live_as_long_as_was_asked_and_nothing_reserved_is_promised(moves: list[Any]) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), hosts=HOSTS) as world:
        history = History(world)
        for each in moves:
            history.move(*each)
            audit(world)
        run_for(world, hours=4)
        assert not any(host.membership.moves for host in world.listed())
        assert {each.status for each in list(queries.each_lease(world.service, None))} <= {LeaseStatus.TERMINATED}
        audit(world)
