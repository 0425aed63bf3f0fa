"""A law of disabled resources, on random histories: no decision for a user ever promises one, and nothing moves."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from leasehold.db.tables import allocations, leases
from leasehold.leasing import queries
from leasehold.manager.monitor import check_once
from leasehold.model.errors import LeaseholdError
from leasehold.model.lease_type import LeaseType
from leasehold.model.resource import FLOATING_IP, HOST
from tests.factory import DEMO, OPERATOR, flavors, floating_ips, hosts, instances, make_service, run_for
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
ADDRESSES = (200, 201)
LABELS = (*HOSTS, *(f"203.0.113.{last}" for last in ADDRESSES))
ASKED = (
    hosts(1),
    hosts(2),
    hosts(1, 3),
    instances(3),
    instances(2, affinity=False),
    flavors(2),
    floating_ips(1),
    floating_ips(2),
)
MOVES = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["lease", "waitlist", "operator"]),
            st.sampled_from(ASKED),
            st.integers(0, 3),
            st.integers(1, 4),
        ),
        st.tuples(
            st.sampled_from(["extend", "grow", "delete", "swap"]), st.none(), st.integers(0, 9), st.integers(1, 4)
        ),
        st.tuples(st.sampled_from(["disable", "enable", "fail", "recover"]), st.none(), st.integers(0, 5), st.none()),
        st.tuples(st.just("pass"), st.none(), st.integers(1, 60), st.none()),
    ),
    min_size=5,
    max_size=25,
)


class History:
    """A service on which moves are made; `admins` are the ids of the leases that may have disabled resources."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.admins: set[str] = set()

    def move(self, what: str, asked: Any, number: int, length: int | None) -> None:
        """Make a move, let the manager do all that is due, and check what was promised meanwhile."""
        disabled, before = self._disabled(), self._held()
        self.world.clock.advance(microseconds=1)
        with suppress(LeaseholdError):
            getattr(self, f"_{what}")(asked, number, length)
        run_for(self.world, seconds=10)
        disabled &= self._disabled()
        for (lease, label), slots in self._held().items():
            if label in disabled and lease not in self.admins:
                assert slots <= before.get((lease, label), 0), (what, label)

    def _disabled(self) -> set[str]:
        service = self.world.service
        found = (each for kind in (HOST, FLOATING_IP) for each in queries.list_resources(service, kind))
        return {each.label for each in found if each.disabled}

    def _held(self) -> dict[tuple[str, str], int]:
        """Return the slots that each lease has of each resource up to its end."""
        held: dict[tuple[str, str], int] = defaultdict(int)
        for lease in queries.list_leases(self.world.service, None):
            for position in range(len(lease.reservations)):
                for label, slots in self.world.holds(lease, position).items():
                    held[lease.id, label] += slots
        return held

    def _ask(self, asked: Any, start: int, length: int, **more: Any) -> Lease:
        hours = (self.world.now() - self.world.hour(0)).total_seconds() // 60 / 60 + start / 2
        return self.world.lease(asked, start=hours, end=hours + length / 2, **more)

    def _lease(self, asked: Any, start: int, length: int) -> None:
        self._ask(asked, start, length, caller=DEMO)

    def _waitlist(self, asked: Any, start: int, length: int) -> None:
        deadline = self.world.now() + timedelta(hours=3)
        self._ask(asked, start, length, type=LeaseType.WAITLIST, deadline=deadline, retry_pause=timedelta(minutes=5))

    def _operator(self, asked: Any, start: int, length: int) -> None:
        self.admins.add(self._ask(asked, start, length, caller=OPERATOR, use_disabled=True).id)

    def _some(self, number: int) -> Lease:
        found = [each for each in queries.list_leases(self.world.service, None) if each.id not in self.admins]
        if not found:
            raise LeaseholdError("There is no lease.")
        return found[number % len(found)]

    def _extend(self, _: Any, number: int, length: int) -> None:
        lease = self._some(number)
        self.world.amend(lease, end=lease.window.end + timedelta(hours=length / 2))

    def _grow(self, _: Any, number: int, length: int) -> None:
        lease = self._some(number)
        whole = "max" in lease.reservations[0].request
        self.world.amend(lease, {"min": length, "max": length} if whole else {"amount": length})

    def _delete(self, _: Any, number: int, __: int) -> None:
        self.world.delete(self._some(number))

    def _swap(self, _: Any, number: int, __: int) -> None:
        lease = self._some(number)
        self.world.swap(lease, host=next(iter(self.world.holds(lease)), "none"))

    def _disable(self, _: Any, number: int, __: None) -> None:
        self.world.disable(LABELS[number])

    def _enable(self, _: Any, number: int, __: None) -> None:
        self.world.enable(LABELS[number])

    def _fail(self, _: Any, number: int, __: None) -> None:
        self.world.fail(HOSTS[number % len(HOSTS)])

    def _recover(self, _: Any, number: int, __: None) -> None:
        before = self._disabled()
        self.world.recover(HOSTS[number % len(HOSTS)])
        assert self._disabled() == before

    def _pass(self, _: Any, number: int, __: None) -> None:
        run_for(self.world, minutes=number)
        check_once(self.world.service)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sets(st.sampled_from(LABELS)), MOVES)
def test_no_decision_for_a_user_ever_takes_a_disabled_resource(
    labels: set[str], moves: list[tuple[str, Any, int, int | None]]
) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), hosts=HOSTS, addresses=ADDRESSES) as world:
        world.disable(*labels)
        history = History(world)
        for each in moves:
            history.move(*each)
        audit(world)


def held_by_everybody(world: World) -> set[tuple[str, int]]:
    """Return which lease has which resource now or later."""
    columns = (allocations.c.lease_id, allocations.c.resource_number)
    query = select(*columns).join(leases, leases.c.id == allocations.c.lease_id)
    with world.service.db.reading() as connection:
        found = connection.execute(query.where(allocations.c.left_at.is_(None), allocations.c.released_at.is_(None)))
        return {tuple(row) for row in found}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(ASKED), min_size=1, max_size=4), st.sets(st.sampled_from(LABELS), min_size=1))
def test_whatever_is_disabled_nothing_that_is_promised_moves(asked: list[Any], labels: set[str]) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), hosts=HOSTS, addresses=ADDRESSES) as world:
        for position, each in enumerate(asked):
            with suppress(LeaseholdError):
                world.lease(each, start=position % 2, end=3)
        run_for(world, minutes=1)
        before = held_by_everybody(world)
        world.disable(*labels)
        for _ in range(2):
            check_once(world.service)
            run_for(world, minutes=40)
        assert held_by_everybody(world) == before
        assert not any(each.degraded for each in queries.list_leases(world.service, None))
        audit(world)
