"""Feature A17: the order of leases that wait is a policy, which an operator chooses and a package may provide."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.leasing.deciding.waiting_order import FewestLeases, LongestWaiting, ahead_of, load_order
from leasehold.model.terms.waiting import Waiting, WaitingLease
from leasehold.resource_types.registry import PluginError
from tests.factory import ALT, DEMO, hosts, run_for, run_manager
from tests.unit.leasing.test_waiting import ALL, waitlist

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.deciding.waiting_order import WaitingOrder
    from tests.factory import World

BEGIN = datetime(2031, 5, 1, tzinfo=UTC)
PAUSE = timedelta(minutes=5)


def line(projects: Sequence[str]) -> list[WaitingLease]:
    """Return a lease of each of these projects, the longest waiting first."""
    moments = (BEGIN + timedelta(seconds=number) for number in range(len(projects)))
    waits = (Waiting(moment, moment + PAUSE, PAUSE, frozenset({"hosts"}), retries=3) for moment in moments)
    return [WaitingLease(str(number), each, "u", next(waits)) for number, each in enumerate(projects)]


@given(st.lists(st.integers(0, 3), max_size=12))
def test_the_fewest_leases_come_first_and_then_the_longest_waiting(counts: list[int]) -> None:
    leases = [replace(each, granted=count) for each, count in zip(line("a" * len(counts)), counts, strict=True)]
    ranked = FewestLeases().ranked(leases)
    places = [(each.granted, each.waiting.since) for each in ranked]
    assert places == sorted((each.granted, each.waiting.since) for each in leases)


class Reverse:
    """Who came last comes first."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        return leases[::-1]


class Forgetful:
    """A plugin that leaves leases out."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        return leases[:1]


class Broken:
    """A plugin with a bug."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        message = "bug"
        raise RuntimeError(message)


@pytest.mark.parametrize(
    ("order", "wanted"),
    [(LongestWaiting(), "01"), (FewestLeases(), "1"), (Reverse(), "3"), (Forgetful(), "01"), (Broken(), "01")],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_who_comes_before_a_lease(order: WaitingOrder, wanted: str, caplog: pytest.LogCaptureFixture) -> None:
    leases = [replace(each, granted=count) for each, count in zip(line("aaba"), (2, 0, 1, 1), strict=True)]
    assert "".join(each.id for each in ahead_of(order, leases[::-1], "2", 100)) == wanted
    assert len(ahead_of(order, leases, "2", 1)) == 1
    assert ("A bug in the waiting order" in caplog.text) is isinstance(order, Forgetful | Broken)


def test_an_order_is_found_by_its_name() -> None:
    assert isinstance(load_order("longest_waiting"), LongestWaiting)
    assert isinstance(load_order("fewest_leases"), FewestLeases)
    with pytest.raises(PluginError, match=r"waiting_order names 'alphabetical'"):
        load_order("alphabetical")


def served(world: World, order: WaitingOrder) -> list[str]:
    """Return which of three leases of two projects are active when there is room for two of them."""
    own = replace(world, service=replace(world.service, waiting_order=order))
    first = own.lease(ALL)
    leases = [waitlist(own, hosts(2), caller=caller) for caller in (DEMO, DEMO, ALT)]
    own.delete(first)
    run_manager(own)
    run_for(own, seconds=5)
    return [name for name, lease in zip(("first", "second", "other"), leases, strict=True) if not own.get(lease).waits]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "wanted"), [(LongestWaiting(), ["first", "second"]), (FewestLeases(), ["first", "other"])]
)
def test_the_chosen_order_decides_who_is_granted(world: World, order: WaitingOrder, wanted: list[str]) -> None:
    assert served(world, order) == wanted


@pytest.mark.slow
def test_a_new_lease_is_granted_at_once_if_it_comes_before_those_that_wait(world: World) -> None:
    own = replace(world, service=replace(world.service, waiting_order=FewestLeases()))
    first, keeps = own.lease(hosts(4), caller=ALT), own.lease(hosts(1))
    waits = waitlist(own, hosts(2))
    own.delete(first)
    assert waitlist(own, hosts(3), caller=ALT).status == "PENDING"
    run_for(own, seconds=5)
    assert [own.get(each).waits for each in (waits, keeps)] == [True, False]
