"""Laws of leases that wait, on random histories: what fits is granted, in order, and nothing is granted twice."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.leasing.reading import queries
from leasehold.model.errors import NotEnoughError
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import ALT, DEMO, Clock, hosts, make_service, run_for
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
PAUSE = timedelta(minutes=5)
RETRIES = 3
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.integers(1, 4), st.integers(1, 4)),
        st.tuples(st.just("retry"), st.integers(1, 4), st.integers(1, 4)),
        st.tuples(st.just("waitlist"), st.integers(1, 4), st.integers(1, 4)),
        st.tuples(st.just("waitlist"), st.integers(1, 2), st.just(2)),
        st.tuples(st.just("delete"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 40), st.just(0)),
    ),
    min_size=5,
    max_size=25,
)


class History:
    """A service on which moves are made; `waited` are the leases that had to wait, in their order."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.waited: list[Lease] = []

    def move(self, what: str, amount: int, length: int) -> None:
        """Make a move, and let the manager do all that is due."""
        world = self.world
        world.clock.advance(microseconds=1)
        now = (world.now() - world.hour(0)).total_seconds() // 60 / 60
        if what == "delete":
            leases = list(queries.each_lease(world.service, None))
            if leases:
                world.delete(leases[amount % len(leases)])
        elif what == "pass":
            run_for(world, minutes=amount)
        else:
            self._ask(what, amount, now, now + length / 4)
        # One that let another one go first is tried again a second later, and so are those behind it.
        run_for(world, seconds=10)

    def _ask(self, what: str, amount: int, start: float, end: float) -> None:
        world = self.world
        caller = DEMO if amount % 2 else ALT
        if what == "lease":
            try:
                world.lease(hosts(amount), start=start, end=end, caller=caller)
            except NotEnoughError:
                return
        elif what == "retry":
            kind = LeaseType.RETRY
            lease = world.lease(
                hosts(amount), start=start, end=end, caller=caller, type=kind, retries=RETRIES, retry_pause=PAUSE
            )
            self.waited += [lease] if lease.waits else []
        else:
            until, kind = world.hour(start + 1), LeaseType.WAITLIST
            lease = world.lease(
                hosts(amount), start=start, end=end, caller=caller, type=kind, deadline=until, retry_pause=PAUSE
            )
            self.waited += [lease] if lease.waits else []

    def check(self) -> None:
        """Check what holds whenever no work is left."""
        audit(self.world)
        found = [self.world.get(each) for each in self.waited if self.world.exists(each)]
        for lease in found:
            assert lease.waiting is not None
            assert lease.waiting.tried <= (lease.waiting.retries or lease.waiting.tried)
            if lease.status == "ERROR" and not lease.waiting.granted:
                assert lease.waiting.tried == RETRIES
            if lease.waits:
                assert not lease.waiting.expired(self.world.now())
                self._does_not_fit(lease)
            assert bool(self.world.holds(lease)) <= lease.waiting.granted
        self._are_in_order(found)

    def _does_not_fit(self, lease: Lease) -> None:
        """A lease that waits would be refused as a new one; so it waits for resources, and for nobody in vain."""
        hours = (self.world.now() - self.world.hour(0)).total_seconds() // 60 / 60
        length = lease.window.duration / timedelta(hours=1)
        amount = lease.reservations[0].request["max"]
        with pytest.raises(NotEnoughError):
            self.world.lease(hosts(amount), start=hours, end=hours + length)

    def _are_in_order(self, found: Sequence[Lease]) -> None:
        """Of two leases that ask for the same and wait, the later one is not granted while the earlier one waits."""
        for place, early in enumerate(found):
            if early.waits:
                for late in found[place + 1 :]:
                    same = late.reservations[0].request == early.reservations[0].request
                    alike = late.window.duration == early.window.duration
                    assert not (same and alike and late.waiting is not None and late.waiting.granted)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(moves=MOVES)
def test_what_fits_is_granted_in_order_and_nothing_twice(
    moves: Sequence[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder: Path = tmp_path_factory.mktemp("line")
    with make_service(folder, clock=Clock(), hosts=HOSTS) as world:
        history = History(world)
        for what, amount, length in moves:
            history.move(what, amount, length)
            history.check()
