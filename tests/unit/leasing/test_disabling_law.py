"""A law of disabled resources, on random histories: no decision for a user ever promises one, and nothing moves."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from leasehold.db.tables import allocations, leases
from leasehold.leasing.reading import queries
from leasehold.manager.monitor import check_once
from leasehold.model.errors import LeaseholdError
from tests.factory import DEMO, OPERATOR, make_service, run_for
from tests.stateful.audit import audit
from tests.unit.leasing.random_history import ADDRESSES, ASKED, HOSTS, LABELS, History

if TYPE_CHECKING:
    from leasehold.model.caller import Caller
    from tests.factory import World

pytestmark = pytest.mark.slow

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
        st.tuples(st.sampled_from(["disable", "enable", "fail", "recover"]), st.none(), st.integers(0, 5), st.just(1)),
        st.tuples(st.just("pass"), st.none(), st.integers(1, 60), st.just(1)),
    ),
    min_size=5,
    max_size=25,
)


class Disabling(History):
    """A service whose resources are disabled and enabled."""

    def closed(self) -> set[tuple[str, str]]:
        return {(name, label) for name in (DEMO.project_id, OPERATOR.project_id) for label in self._disabled()}

    def caller(self, start: int, length: int) -> Caller:
        return DEMO

    def _disabled(self) -> set[str]:
        return {each.label for each in self.resources() if each.disabled}

    def _operator(self, asked: Any, start: int, length: int) -> None:
        self.admins.add(self.ask(asked, start, length, caller=OPERATOR, use_disabled=True).id)

    def _disable(self, _: Any, number: int, __: int) -> None:
        self.world.disable(LABELS[number])

    def _enable(self, _: Any, number: int, __: int) -> None:
        self.world.enable(LABELS[number])

    def _recover(self, _: Any, number: int, length: int) -> None:
        before = self._disabled()
        super()._recover(_, number, length)
        assert self._disabled() == before


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sets(st.sampled_from(LABELS)), MOVES)
def test_no_decision_for_a_user_ever_takes_a_disabled_resource(
    labels: set[str], moves: list[tuple[str, Any, int, int]]
) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), hosts=HOSTS, addresses=ADDRESSES) as world:
        world.disable(*labels)
        history = Disabling(world)
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
        assert not any(each.degraded for each in list(queries.each_lease(world.service, None)))
        audit(world)
