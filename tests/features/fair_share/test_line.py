"""Feature A17: where leases that wait stand, and when they are expected to start, against a search minute by minute."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from leasehold.db.columns.waits import write_waiting
from leasehold.db.tables import leases
from leasehold.db.waiting import MOST
from leasehold.features.fair_share.line import Line, places
from leasehold.features.fair_share.options import FairShareSettings
from leasehold.features.fair_share.order import FairShare
from leasehold.leasing.deciding.waiting_order import UNEXPLAINED, FewestLeases
from leasehold.leasing.reading import queries
from leasehold.model.errors import NotEnoughError
from leasehold.model.resource import FLOATING_IP
from tests.db.examples import statements
from tests.factory import ALT, DEMO, Clock, floating_ips, hosts, make_service, run_for, run_manager
from tests.unit.leasing.test_waiting import ALL, retry, waitlist
from tests.unit.leasing.test_waiting_order import Broken, Reverse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.features.fair_share.line import Place
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
MINUTE = timedelta(minutes=1)


def place(world: World, lease: Lease) -> Place:
    return places(world.service)[lease.id]


def test_each_knows_how_many_are_ahead_why_and_when(world: World) -> None:
    world.lease(ALL, start=0, end=2)
    first, second = (waitlist(world, ALL, caller=caller, until=9) for caller in (DEMO, ALT))
    third = waitlist(world, hosts(1), until=9)
    found = [place(world, each) for each in (first, second, third)]
    assert [each.ahead for each in found] == [0, 1, 2]
    assert [each.expected_at for each in found] == [world.hour(2), world.hour(3), world.hour(4)]
    assert "Who has waited longest comes first; the lease has since 2031-05-01 09:00 UTC." in found[0].why
    run_for(world, hours=5)
    started = [world.get(each).window.start for each in (first, second, third)]
    assert started == [world.hour(2), world.hour(3), world.hour(4)], "it was as expected"


def test_the_order_says_why(world: World) -> None:
    service = world.service
    fair = replace(service, waiting_order=FairShare(), settings=service.settings.having(FairShareSettings()))
    world.lease(ALL, start=0, end=2)
    lease = waitlist(world, ALL)
    assert "Yours has held 0.0 hours for a share of 1" in places(fair)[lease.id].why
    assert "project has 1" in places(replace(service, waiting_order=FewestLeases()))[lease.id].why
    for order in (Reverse(), Broken()):
        assert places(replace(service, waiting_order=order))[lease.id].why == UNEXPLAINED


def test_what_cannot_be_known_says_why(world: World) -> None:
    world.lease(ALL, start=0, end=8)
    late, never = waitlist(world, ALL, until=3), retry(world, ALL, retries=2)
    found = [place(world, each) for each in (late, never)]
    assert [each.expected_at for each in found] == [None, None]
    assert all("becomes free in time" in (each.unknown or "") for each in found)
    slow = replace(world.service, steady=iter(range(10**6)).__next__)
    waits = waitlist(world, hosts(1), until=20)
    unknown = sorted(places(slow).values(), key=lambda each: each.ahead)
    assert "takes too long" in (unknown[0].unknown or "")
    assert all("not known when a lease ahead of it starts" in (each.unknown or "") for each in unknown[1:])
    assert (len(unknown), unknown[-1]) == (3, places(slow)[waits.id])


def passed_over(world: World, lease: Lease) -> None:
    """Note that the last try of a lease was refused for another reason than resources."""
    assert lease.waiting is not None
    told = write_waiting(replace(lease.waiting, passed_over=True))
    world.execute(update(leases).where(leases.c.id == lease.id).values(waiting=told))


def test_who_is_kept_back_by_a_limit_is_in_nobodys_way(world: World) -> None:
    world.lease(ALL, start=0, end=2)
    first, second = waitlist(world, ALL, until=9), waitlist(world, ALL, until=9)
    passed_over(world, first)
    found = [place(world, each) for each in (first, second)]
    assert ("see status_reason" in (found[0].unknown or ""), found[1].ahead) == (True, 1)
    assert found[1].expected_at == world.hour(2)


def test_who_waits_for_other_resources_is_not_ahead(world: World) -> None:
    addresses = len(list(queries.list_resources(world.service, FLOATING_IP)))
    world.lease(ALL, floating_ips(addresses), start=0, end=2)
    waits, other = waitlist(world, ALL), waitlist(world, floating_ips(1))
    both = waitlist(world, hosts(1), floating_ips(1))
    assert [place(world, each).ahead for each in (waits, other, both)] == [0, 0, 2]


def test_far_behind_nothing_is_known(world: World) -> None:
    world.lease(ALL, start=0, end=2)
    line = [waitlist(world, hosts(1), start=0, end=0.01, until=99) for _ in range(MOST + 1)]
    found = places(world.service)
    last = found[line[-1].id]
    assert (last.ahead, last.expected_at) == (MOST, None)
    assert f"More than {MOST}" in (last.unknown or "")
    assert found[line[-2].id].expected_at is not None


def test_the_places_are_found_out_once_for_all_and_for_some_seconds(world: World) -> None:
    world.lease(ALL, start=0, end=2)
    leases = [waitlist(world, hosts(1)) for _ in range(3)]
    seconds = [0.0]
    line = Line(replace(world.service, steady=lambda: seconds[0]))
    with statements(world.engine) as asked:
        assert [getattr(line.place(each.id), "ahead", None) for each in leases] == [0, 1, 2]
    assert len(asked) < 12, asked
    with statements(world.engine) as asked:
        assert all(line.place(each.id) for each in leases)
    assert asked == []
    world.delete(leases[0])
    seconds[0] += 10
    assert [getattr(line.place(each.id), "ahead", None) for each in leases] == [None, 0, 1]
    later = waitlist(world, hosts(1))
    found = line.place(later.id)
    assert found is not None, "who begins to wait is not told an older state"
    assert found.ahead == 2


# ------------------------------------------------------------ against a search minute by minute


def brute(busy: Sequence[list[tuple[int, int]]], asked: Sequence[tuple[int, int, int, int]]) -> list[int | None]:
    """Return when each starts, in minutes: the first at which so many hosts are free until its end.

    Each asks for hosts from a minute on, for so many minutes, and starts before a deadline.
    """
    taken, found = [list(each) for each in busy], list[int | None]()
    for amount, start, length, deadline in asked:
        for minute in range(start, deadline):
            free = [
                number
                for number, each in enumerate(taken)
                if all(end <= minute or minute + length <= begin for begin, end in each)
            ]
            if len(free) >= amount:
                for number in free[:amount]:
                    taken[number].append((minute, minute + length))
                found.append(minute)
                break
        else:
            found.append(None)
    return found


ASKED = st.lists(
    st.tuples(
        st.integers(1, 4), st.sampled_from([0, 0, 0, 15, 40]), st.sampled_from([10, 30, 60]), st.integers(60, 300)
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(leased=st.lists(st.tuples(st.integers(30, 100), st.integers(10, 60)), max_size=4), asked=ASKED)
def test_starts_are_expected_as_by_a_search_of_all_minutes(
    leased: list[tuple[int, int]],
    asked: list[tuple[int, int, int, int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with make_service(tmp_path_factory.mktemp("line"), clock=Clock(), hosts=HOSTS) as world:
        # At first all hosts are leased, so that nearly all of those who ask wait.
        granted = [world.lease(hosts(4), start=0, end=0.25)]
        for start, length in leased:
            with suppress(NotEnoughError):
                granted.append(world.lease(hosts(1), start=start / 60, end=(start + length) / 60))
        leases = [
            waitlist(
                world, hosts(amount), start=start / 60, end=(start + length) / 60, deadline=world.hour(deadline / 60)
            )
            for amount, start, length, deadline in asked
        ]
        granted += [each for each in leases if not each.waits]
        waiting = [(lease, each) for lease, each in zip(leases, asked, strict=True) if lease.waits]
        numbers = [each.number for each in world.listed()]
        busy: list[list[tuple[int, int]]] = [[] for _ in HOSTS]
        for held in (held for each in granted for held in world.part(each).allocations):
            begin, end = ((each - world.hour(0)) // MINUTE for each in (held.window.start, held.window.end))
            busy[numbers.index(held.resource_number)].append((begin, end))
        found = places(world.service)
        starts = [found[lease.id].expected_at for lease, _ in waiting]
        wanted = brute(busy, [each for _, each in waiting])
        assert [None if each is None else (each - world.hour(0)) // MINUTE for each in starts] == wanted


def started(world: World, lease: Lease) -> datetime:
    return world.get(lease).window.start


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(amounts=st.lists(st.integers(1, 2), min_size=1, max_size=8), length=st.integers(1, 3))
def test_leases_of_one_length_start_when_they_are_expected(
    amounts: list[int], length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Where nobody asks meanwhile and no lease can be overtaken by one that is shorter or smaller."""
    amounts = [max(amounts)] * len(amounts)
    with make_service(tmp_path_factory.mktemp("line"), clock=Clock(), hosts=HOSTS) as world:
        world.lease(hosts(4), start=0, end=1)
        leases = [waitlist(world, hosts(each), start=0, end=length, until=99) for each in amounts]
        wanted = [place(world, each).expected_at for each in leases]
        run_for(world, hours=30)
        run_manager(world)
        assert [started(world, each).replace(second=0) for each in leases] == wanted
