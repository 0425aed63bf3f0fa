"""Laws of flexible leases, against brute force: the best place, who is granted, and that no promise breaks."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leasehold.features.flexible import use
from leasehold.features.flexible.model import NotFlexibleError, State, Strategy
from leasehold.features.flexible.moving import move_all
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.model.errors import LeaseholdError, NotEnoughError
from tests.factory import ALT, START, Clock, hosts, make_service
from tests.features.flexible.making import HOUR, at, flexible
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.features.flexible.use import Placed
    from tests.factory import World

pytestmark = pytest.mark.slow

NAMES = ("cmp-01", "cmp-02", "cmp-06")
FREE = FlexibleSettings(rest=timedelta(0), most_moves=1000, least_gain=timedelta(minutes=1))
"""Nothing but their windows keeps leases where they are."""
Busy = tuple[int, int]
"""From one minute after the start of the test to another."""


def on(name: str) -> dict[str, object]:
    return hosts(1, hypervisor_properties=f'["==", "$hypervisor_hostname", "{name}"]')


def broken(busy: Sequence[Busy], start: int, end: int) -> int:
    """Return the shorter of the times that are free before and after a lease; what is after it may have no end."""
    before = start - max((until for _, until in busy if until <= start), default=0)
    after = min((begin for begin, _ in busy if begin >= end), default=None)
    return before if after is None else min(before, after - end)


BUSY = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 30), st.integers(1, 6)), max_size=7)


@given(
    busy=BUSY,
    amount=st.integers(1, 2),
    earliest=st.integers(0, 12),
    length=st.integers(1, 8),
    slack=st.integers(0, 14),
    strategy=st.sampled_from(Strategy),
)
@settings(max_examples=40, deadline=None)
def test_the_place_is_the_best_of_all_minutes(
    busy: list[tuple[str, int, int]], amount: int, earliest: int, length: int, slack: int, strategy: Strategy
) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), clock=Clock(), hosts=NAMES) as world:
        taken: dict[str, list[Busy]] = {name: [] for name in NAMES}
        for name, start, hours in busy:
            # In units of 50 minutes, so that the best place seldom is on a full hour.
            window = (start * 50, (start + hours) * 50)
            with suppress(NotEnoughError):
                world.lease(on(name), start=window[0] / 60, end=window[1] / 60)
                taken[name].append(window)
        free = [
            (place, start)
            for start in range(earliest * 60, (earliest + slack) * 60 + 1)
            if (place := _cost(taken, start, length * 60, amount, strategy)) is not None
        ]
        try:
            placed = flexible(
                world, earliest + length + slack, length, hosts(amount), earliest=earliest, strategy=strategy
            )
        except NotEnoughError:
            assert not free
        else:
            assert free
            assert round(at(world, placed)[0] * 60) == min(free)[1]
        audit(world)


def _cost(taken: dict[str, list[Busy]], start: int, length: int, amount: int, strategy: Strategy) -> int | None:
    """Return what a place costs on the hosts that the service takes there: the first that are free."""
    end = start + length
    idle = [name for name in NAMES if all(until <= start or begin >= end for begin, until in taken[name])]
    if len(idle) < amount:
        return None
    if strategy is Strategy.SOONEST:
        return start
    return sum(broken(taken[name], start, end) for name in idle[:amount])


@given(
    firm=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4)), max_size=3),
    moving=st.lists(st.tuples(st.integers(0, 10), st.integers(1, 4), st.integers(0, 12)), min_size=1, max_size=3),
    asked=st.tuples(st.integers(0, 20), st.integers(1, 5)),
)
@example(firm=[], moving=[(2, 4, 24), (2, 4, 8)], asked=(4, 5))
@settings(max_examples=60, deadline=None)
def test_who_fits_when_others_move_is_granted(
    firm: list[tuple[int, int]], moving: list[tuple[int, int, int]], asked: tuple[int, int]
) -> None:
    with moving_freely(NAMES[0]) as world:
        there, placed = [], []
        for start, length in firm:
            with suppress(NotEnoughError):
                world.lease(hosts(), start=start, end=start + length)
                there.append((start, start + length))
        for earliest, length, slack in moving:
            with suppress(NotEnoughError):
                placed.append(flexible(world, earliest + length + slack, length, earliest=earliest))
        choices = [_choices(world, each) for each in placed]
        want = (asked[0], asked[0] + asked[1])
        possible = any(_disjoint([*there, want, *each]) for each in product(*choices))
        try:
            world.lease(hosts(), start=want[0], end=want[1], caller=ALT)
        except NotEnoughError:
            assert not possible
        else:
            assert possible
        _check(world, placed)


@contextmanager
def moving_freely(*names: str) -> Iterator[World]:
    """Yield a service with these hosts, in which nothing but their windows keeps leases where they are."""
    with TemporaryDirectory() as folder, make_service(Path(folder), clock=Clock(), hosts=names) as world:
        yield world.with_settings(features={FlexibleSettings: FREE})


def _choices(world: World, placed: Placed) -> list[tuple[float, float]]:
    """Return where a flexible lease may be, on full hours: it is told of a move an hour before it starts."""
    start, end = at(world, placed)
    terms = placed.flexible.terms
    if start < 1 or use.get_flexible(world.service, placed.lease.id).state(world.now()) is not State.FLEXIBLE:
        return [(start, end)]
    first, last = (round((each - START) / HOUR) for each in (terms.earliest, terms.latest - terms.duration))
    return [(hour, hour + end - start) for hour in range(max(1, first), last + 1)]


def _disjoint(windows: Sequence[tuple[float, float]]) -> bool:
    ordered = sorted(windows)
    return all(one[1] <= other[0] for one, other in pairwise(ordered))


def _check(world: World, placed: Sequence[Placed]) -> None:
    """Check that each is where its owner allowed it, for as long as that, and that nothing is promised twice."""
    for each in placed:
        with suppress(LeaseholdError):
            now = use.get_flexible(world.service, each.lease.id)
            assert now.lease.window == now.flexible.window
            assert now.flexible.terms.allow(now.lease.window)
            assert now.flexible.terms == each.flexible.terms
    audit(world)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("flexible"), st.integers(0, 12), st.integers(1, 6)),
        st.tuples(st.just("firm"), st.integers(0, 24), st.integers(1, 6)),
        st.tuples(st.just("delete"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("terms"), st.integers(0, 9), st.integers(1, 8)),
        st.tuples(st.just("look"), st.just(0), st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 4), st.just(0)),
    ),
    min_size=5,
    max_size=25,
)


@given(STEPS)
@settings(max_examples=25, deadline=None)
def test_whatever_moves_each_keeps_its_window_and_its_length(steps: list[tuple[str, int, int]]) -> None:
    with moving_freely(*NAMES[:2]) as world:
        placed: list[Placed] = []
        firm = []
        for number, (what, first, second) in enumerate(steps):
            world.clock.advance(microseconds=1)
            now = (world.now() - START) / HOUR
            frozen = {each.lease.id: at(world, each) for each in placed if each.flexible.id in _frozen(world, placed)}
            with suppress(NotEnoughError, NotFlexibleError):
                if what == "flexible":
                    strategy = list(Strategy)[number % 2]
                    asked = hosts(1 + number % 2)
                    latest = int(now) + 2 + first + 2 * second
                    placed.append(flexible(world, latest, second, asked, earliest=now + first / 2, strategy=strategy))
                elif what == "firm":
                    start = int(now) + 1 + first / 2
                    firm.append(world.lease(hosts(), start=start, end=start + second, caller=ALT))
                elif what == "delete" and firm:
                    world.delete(firm.pop(first % len(firm)))
                elif what == "look":
                    move_all(world.service)
                elif what == "pass":
                    world.clock.advance(hours=first)
                elif what == "terms" and placed:
                    placed = _with_other_length(world, placed, first % len(placed), second)
                    frozen = {}
            for each in placed:
                if each.lease.id in frozen:
                    assert at(world, each) == frozen[each.lease.id]
            _check(world, placed)


def _frozen(world: World, placed: Sequence[Placed]) -> set[str]:
    states = [use.get_flexible(world.service, each.lease.id) for each in placed]
    return {each.lease.id for each in states if each.state(world.now()) is State.FROZEN}


def _with_other_length(world: World, placed: list[Placed], which: int, hours: int) -> list[Placed]:
    each = use.get_flexible(world.service, placed[which].lease.id)
    terms = each.flexible.terms
    with suppress(LeaseholdError):
        each = use.amend_flexible(
            world.service, each.lease.id, type(terms)(terms.earliest, terms.latest, hours * HOUR, terms.frozen)
        )
    return [*placed[:which], each, *placed[which + 1 :]]
