"""Feature F3, the decision: which hosts the reservation pool draws, and which it gives back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.membership import Membership
from leasehold.model.pool_size import NO_SIZE, Candidate, Need, Plan, Size, plan
from leasehold.model.windows import Window
from tests.db.examples import NOW, hour

LEAD = timedelta(hours=1)
INSIDE, SHARED, DRAWING = Membership.RESERVATION, Membership.SHARED, Membership.DRAWING
MOMENTS = st.one_of(st.none(), st.integers(-5, 5).map(hour))
HOSTS = st.lists(
    st.builds(
        Candidate,
        number=st.just(0),
        label=st.just("host"),
        membership=st.sampled_from(Membership),
        usable=st.booleans(),
        since=st.one_of(st.none(), st.integers(-5, 0).map(hour)),
        promised=MOMENTS,
        servers=st.integers(0, 3),
        failed=st.booleans(),
    ).map(lambda each: each if each.membership is INSIDE else replace(each, promised=None)),
    max_size=8,
).map(lambda found: [replace(each, number=number) for number, each in enumerate(found, 1)])
NEEDS = st.lists(
    st.builds(
        lambda hosts, start, length: Need("lease", hosts, Window(hour(start), hour(start + length))),
        st.integers(1, 4),
        st.integers(0, 4),
        st.integers(1, 4),
    ),
    max_size=3,
)
SIZES = st.builds(
    lambda floor, more: Size(floor, None if more is None else floor + more, LEAD),
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(0, 3)),
)


def host(number: int, membership: Membership = INSIDE, **more: object) -> Candidate:
    return replace(Candidate(number, f"cmp-{number}", membership, usable=True), **more)  # type: ignore[arg-type]  # names


def need(hosts: int, start: float = 0, end: float = 1) -> Need:
    return Need("lease", hosts, Window(hour(start), hour(end)))


def drawn(found: Plan) -> list[int]:
    return [each.number for each in found.draw]


def given_back(found: Plan) -> list[int]:
    return [each.number for each in found.give_back]


def test_nothing_moves_without_a_need_and_a_surplus() -> None:
    assert plan([host(1, promised=NOW), host(2, SHARED)], [], NO_SIZE, NOW) == Plan(
        (),
        (),
        (
            "Leases that wait: 0; they lack 0 hosts.",
            "Hosts beside those with nothing promised within 3600 s: 0; the floor is 0.",
            "Hosts of the reservation pool: 1, 0 of them on their way; the ceiling is not set.",
        ),
    )


def test_what_waiting_leases_lack_is_drawn_from_those_with_the_fewest_servers() -> None:
    shared = [host(2, SHARED, servers=3), host(3, SHARED), host(4, SHARED, servers=1), host(5, SHARED, servers=1)]
    assert drawn(plan([host(1), *shared], [need(3)], NO_SIZE, NOW)) == [3, 4]


def test_a_host_that_is_promised_during_the_need_does_not_count() -> None:
    hosts = [host(1, promised=hour(2)), host(2, SHARED)]
    assert drawn(plan(hosts, [need(1, end=3)], NO_SIZE, NOW)) == [2]
    assert drawn(plan(hosts, [need(1, end=2)], NO_SIZE, NOW)) == []


def test_a_need_beyond_the_lead_time_has_to_wait() -> None:
    assert drawn(plan([host(1, SHARED)], [need(1, start=2, end=3)], NO_SIZE, NOW)) == []


def test_what_is_on_its_way_is_not_drawn_twice() -> None:
    assert drawn(plan([host(1, DRAWING), host(2, SHARED)], [need(1)], NO_SIZE, NOW)) == []


def test_the_floor_is_kept_beside_what_leases_need() -> None:
    hosts = [host(1), host(2, promised=NOW), *(host(number, SHARED) for number in range(3, 9))]
    assert drawn(plan(hosts, [need(1)], Size(2, None, LEAD), NOW)) == [3, 4]
    assert drawn(plan(hosts, [need(1)], Size(2, 3, LEAD), NOW)) == [3]


def test_hosts_that_failed_or_do_not_work_are_not_drawn() -> None:
    hosts = [host(1, SHARED, failed=True), host(2, SHARED, usable=False), host(3, SHARED)]
    assert drawn(plan(hosts, [need(3)], NO_SIZE, NOW)) == [3]


def test_hosts_with_nothing_promised_are_given_back_down_to_the_floor() -> None:
    hosts = [*(host(number) for number in range(1, 5)), host(5, promised=hour(30)), host(6, promised=NOW)]
    assert given_back(plan(hosts, [], Size(2, None, LEAD), NOW)) == [4, 3, 2]
    assert given_back(plan(hosts, [need(1)], Size(3, None, LEAD), NOW)) == [4]


def test_a_host_that_has_just_come_stays_for_the_lead_time() -> None:
    assert given_back(plan([host(1, since=hour(-0.5))], [], NO_SIZE, NOW)) == []
    assert given_back(plan([host(1, since=hour(-1))], [], NO_SIZE, NOW)) == [1]


def test_what_is_beyond_the_ceiling_is_given_back_when_nothing_is_promised_on_it() -> None:
    hosts = [host(1), host(2, promised=NOW), host(3, promised=NOW), host(4, promised=NOW)]
    assert given_back(plan(hosts, [], Size(1, 2, LEAD), NOW)) == [1]


@given(HOSTS, NEEDS, SIZES)
def test_a_plan_moves_only_what_may_move_and_keeps_to_its_bounds(
    hosts: list[Candidate], needs: list[Need], size: Size
) -> None:
    found = plan(hosts, needs, size, NOW)
    assert not (found.draw and found.give_back)
    assert all(each.membership is SHARED and each.usable and not each.failed for each in found.draw)
    assert all(each.membership is INSIDE and each.promised is None for each in found.give_back)
    inside = sum(each.membership in (INSIDE, DRAWING) for each in hosts)
    if size.ceiling is not None and found.draw:
        assert inside + len(found.draw) <= size.ceiling
    free = sum(each.free(NOW + LEAD) for each in hosts)
    beyond = 0 if size.ceiling is None else inside - size.ceiling
    if len(found.give_back) > max(0, beyond):
        assert free - len(found.give_back) >= size.floor


@given(HOSTS, NEEDS, SIZES)
def test_a_plan_that_is_carried_out_is_followed_by_none(hosts: list[Candidate], needs: list[Need], size: Size) -> None:
    """Hosts do not go to and fro."""
    found = plan(hosts, needs, size, NOW)
    for _ in range(2):
        moved = {each.number: INSIDE for each in found.draw} | {each.number: SHARED for each in found.give_back}
        hosts = [
            replace(each, membership=moved[each.number], since=NOW) if each.number in moved else each for each in hosts
        ]
        found = plan(hosts, needs, size, NOW)
    assert (found.draw, found.give_back) == ((), ())
