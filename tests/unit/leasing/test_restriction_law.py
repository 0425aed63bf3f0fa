"""Laws of resources that are for some projects: others are never promised one, and learn nothing of it (feature C6)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.features.availability.search import Wish, search_windows
from leasehold.features.availability.use import AvailabilityQuestion, availability_of
from leasehold.model.errors import LeaseholdError
from tests.factory import ALT, DEMO, floating_ips, hosts, instances, make_service
from tests.stateful.audit import audit
from tests.unit.leasing.random_history import ADDRESSES, ASKED, HOSTS, LABELS, History

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.caller import Caller
    from tests.factory import World

pytestmark = pytest.mark.slow

PROJECTS = st.sampled_from([None, ["demo"], ["alt"], ["demo", "alt"], ["nobody"]])
MOVES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["lease", "waitlist"]), st.sampled_from(ASKED), st.integers(0, 3), st.integers(1, 4)),
        st.tuples(
            st.sampled_from(["extend", "grow", "delete", "swap", "maintain"]),
            st.none(),
            st.integers(0, 9),
            st.integers(1, 4),
        ),
        st.tuples(st.just("restrict"), PROJECTS, st.integers(0, 5), st.just(1)),
        st.tuples(st.sampled_from(["fail", "recover"]), st.none(), st.integers(0, 5), st.just(1)),
        st.tuples(st.just("pass"), st.none(), st.integers(1, 60), st.just(1)),
    ),
    min_size=5,
    max_size=25,
)


class Restricting(History):
    """A service whose resources are for some projects."""

    def closed(self) -> set[tuple[str, str]]:
        return {(name, each.label) for name in ("demo", "alt") for each in self.resources() if not each.open_to(name)}

    def caller(self, start: int, length: int) -> Caller:
        return ALT if (start + length) % 2 else DEMO

    def _maintain(self, _: Any, number: int, length: int) -> None:
        hours = (self.world.now() - self.world.hour(0)).total_seconds() // 60 / 60 + length / 2
        self.world.maintain(HOSTS[number % len(HOSTS)], start=hours, end=hours + 0.5, on_conflict="move")

    def _restrict(self, projects: Any, number: int, __: int) -> None:
        self.world.restrict(projects, LABELS[number])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PROJECTS, min_size=6, max_size=6), MOVES)
def test_no_decision_ever_promises_what_is_for_other_projects(
    whose: list[list[str] | None], moves: list[tuple[str, Any, int, int]]
) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), hosts=HOSTS, addresses=ADDRESSES) as world:
        for label, projects in zip(LABELS, whose, strict=True):
            if projects is not None:
                world.restrict(projects, label)
        history = Restricting(world)
        for each in moves:
            history.move(*each)
        audit(world)


def answer(ask: Callable[[], Any]) -> Any:
    """Return what a question is answered with, an error as its text and its details."""
    try:
        return ask()
    except LeaseholdError as error:
        return str(error), error.details


def told(world: World, caller: Caller, asked: dict[str, Any]) -> list[Any]:
    """Return all that a project is told when it asks for resources."""
    begin, end, hour = world.hour(1), world.hour(3), timedelta(hours=1)
    free = availability_of(world.service, caller, AvailabilityQuestion(asked, begin, end))
    search = search_windows(world.service, caller, Wish([[asked]], hour, begin))
    made = answer(lambda: world.lease(asked, start=1, end=2, caller=caller))
    return [
        free,
        search.windows,
        [(str(each), each.details) for each in search.refused.values()],
        made if isinstance(made, tuple) else world.holds(made),
    ]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sets(st.sampled_from(["cmp-06", "cmp-07", "203.0.113.201"]), min_size=1),
    st.sampled_from(
        [hosts(1), hosts(2), hosts(3), hosts(9), instances(40), instances(3, affinity=False), floating_ips(2)]
    ),
    st.booleans(),
)
def test_others_are_told_what_they_would_be_told_without_it(
    hidden: set[str],
    asked: dict[str, Any],
    before: bool,  # noqa: FBT001 - an example
) -> None:
    answers = []
    for there in (True, False):
        with TemporaryDirectory() as folder, make_service(Path(folder)) as world:
            for name in HOSTS:
                if name not in hidden:
                    world.enrol(name)
                elif there:
                    world.enrol(name, owner="alt")
            world.enrol_addresses(*(last for last in ADDRESSES if there or f"203.0.113.{last}" not in hidden))
            if there:
                world.restrict(["alt"], *hidden)
                with suppress(LeaseholdError):
                    # What the other project has there changes nothing either.
                    world.lease(hosts(1, resource_properties='["==", "$owner", "alt"]'), start=1, end=2, caller=ALT)
            if before:
                world.lease(instances(3), start=1, end=2, caller=DEMO)
            answers.append(told(world, DEMO, asked))
    assert answers[0] == answers[1]
