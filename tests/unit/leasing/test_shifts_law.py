"""A law of feature A15: to move a date by some time is to ask for the date that it then has, for every lease."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.leasing.amend import amend_lease
from leasehold.model.draft import LeaseChanges
from leasehold.model.errors import LeaseholdError
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.tries import as_of
from tests.factory import hosts, make_service, run_manager

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

STEPS = [-9000, -3600, -1800, -61, -1, 1, 59, 1800, 3600, 7200, 90_000, 300 * 366 * 86400, 9000 * 365 * 86400]
SHIFT = st.none() | st.sampled_from(STEPS)
AMENDMENTS = st.lists(
    st.tuples(SHIFT, SHIFT, st.sampled_from([0, 0, 20, 1800, 7200])).filter(lambda each: each[:2] != (None, None)),
    min_size=1,
    max_size=6,
)
LEASES: tuple[tuple[dict[str, Any], LeaseType], ...] = (
    ({"start": 1, "end": 3}, LeaseType.SCHEDULED),
    ({"start": 0, "end": 2}, LeaseType.SCHEDULED),
    ({"start": 5, "end": 6}, LeaseType.SCHEDULED),
    ({"start": 0, "end": 1}, LeaseType.RETRY),
)


def worlds(stack: ExitStack) -> list[World]:
    """Return two equal services: with two hosts each."""
    folders = (Path(stack.enter_context(TemporaryDirectory())) for _ in range(2))
    return [stack.enter_context(make_service(each, hosts=["cmp-01", "cmp-02"])) for each in folders]


def state(world: World, lease: Lease) -> list[Any]:
    """Return what an amendment may change: dates, status, times of events and resources."""
    now = world.get(lease)
    held = [
        sorted((each.resource_number, each.window, each.released_at) for each in part.allocations)
        for part in now.reservations
    ]
    return [now.window, now.status, [(each.type, each.time, each.status) for each in now.events], held]


def relative(world: World, lease: Lease, start: int | None, end: int | None) -> str:
    """Move the dates from where they are; return what became of it."""
    by = [None if each is None else timedelta(seconds=each) for each in (start, end)]
    return outcome(world, lease, LeaseChanges(start_by=by[0], end_by=by[1]))


def absolute(world: World, lease: Lease, start: int | None, end: int | None) -> str:
    """Ask for the dates that they then have; return what became of it."""
    # The window of a lease that waits begins no earlier than now, and that is where its dates are.
    window = as_of(world.get(lease), world.now()).window
    try:
        dates = [
            None if by is None else moment + timedelta(seconds=by)
            for moment, by in ((window.start, start), (window.end, end))
        ]
    except OverflowError:
        return "leasehold.input.date"
    if any(each is not None and each.year > 9998 for each in dates):
        return "leasehold.input.date"
    return outcome(world, lease, LeaseChanges(start=dates[0], end=dates[1]))


def outcome(world: World, lease: Lease, changes: LeaseChanges) -> str:
    try:
        amend_lease(world.service, lease.id, changes)
    except LeaseholdError as error:
        return error.code
    return "done"


@settings(max_examples=10, deadline=None)
@given(which=st.integers(0, 3), amendments=AMENDMENTS)
def test_a_shift_is_the_date_that_it_leads_to(which: int, amendments: list[tuple[int | None, int | None, int]]) -> None:
    with ExitStack() as stack:
        both = worlds(stack)
        leases = [
            [each.lease(hosts(1 + (position == 3)), type=kind, **when) for position, (when, kind) in enumerate(LEASES)]
            for each in both
        ]
        for start, end, seconds in amendments:
            for world in both:
                world.clock.advance(seconds=seconds)
                run_manager(world)
            one, other = (each[which] for each in leases)
            assert relative(both[0], one, start, end) == absolute(both[1], other, start, end)
            assert state(both[0], one) == state(both[1], other)
