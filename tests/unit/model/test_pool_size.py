"""Feature F3, the decision: which hosts the reservation pool draws, and which it gives back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import combinations, product
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.model.membership import Membership
from leasehold.model.placing.pool_size import NO_SIZE, DrawCandidate, HostNeed, Part, PoolPlan, Size
from leasehold.model.placing.pool_size import plan as planned
from leasehold.model.windows import Window
from tests.db.examples import NOW, hour

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

LEAD = timedelta(hours=1)
INSIDE, SHARED, DRAWING = Membership.RESERVATION, Membership.SHARED, Membership.DRAWING
MOMENTS = st.one_of(st.none(), st.integers(-5, 5).map(hour))
HOSTS = st.lists(
    st.builds(
        DrawCandidate,
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
PARTS = st.lists(
    st.builds(Part, st.integers(1, 3), st.frozensets(st.integers(1, 8), min_size=1)), min_size=1, max_size=2
).map(tuple)
NEEDS = st.lists(
    st.builds(
        lambda parts, start, length: HostNeed("lease", parts, Window(hour(start), hour(start + length))),
        PARTS,
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


def host(number: int, membership: Membership = INSIDE, **more: object) -> DrawCandidate:
    return replace(DrawCandidate(number, f"cmp-{number}", membership, usable=True), **more)  # type: ignore[arg-type]  # names


def need(hosts: int, start: float = 0, end: float = 1, of: Iterable[int] = range(1, 10)) -> HostNeed:
    return HostNeed("lease", (Part(hosts, frozenset(of)),), Window(hour(start), hour(end)))


def plan(hosts: Sequence[DrawCandidate], needs: Sequence[HostNeed], size: Size, now: datetime) -> PoolPlan:
    """Return the plan that draws those hosts first from which the fewest servers have to move."""
    ranked = [each.number for each in sorted(hosts, key=lambda each: (each.servers, each.number))]
    return planned(hosts, needs, size, ranked, now)


def drawn(found: PoolPlan) -> list[int]:
    return [each.number for each in found.draw]


def given_back(found: PoolPlan) -> list[int]:
    return [each.number for each in found.give_back]


def test_nothing_moves_without_a_need_and_a_surplus() -> None:
    assert plan([host(1, promised=NOW), host(2, SHARED)], [], NO_SIZE, NOW) == PoolPlan(
        (),
        (),
        (
            "Leases that wait: 0; what 0 of them ask for is not there or to be drawn.",
            "Hosts beside those with nothing promised within 3600 s: 0; the floor is 0.",
            "Hosts of the reservation pool: 1, 0 are on their way; the ceiling is not set.",
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
    assert drawn(plan(hosts, [need(1)], NO_SIZE, NOW)) == [3]


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


def test_hosts_are_drawn_that_the_lease_asks_for_and_others_given_back() -> None:
    hosts = [host(1), host(2, SHARED), host(3, SHARED, servers=2), host(4, SHARED, servers=1)]
    found = plan(hosts, [need(1, of=[3, 4])], NO_SIZE, NOW)
    assert (drawn(found), given_back(found)) == ([4], [1])
    assert found.reasons == {
        1: "Nothing is promised on it, and no lease that waits needs it",
        4: "Lease lease waits for it",
    }


def test_a_host_that_two_leases_ask_for_serves_the_one_with_no_other() -> None:
    hosts = [host(1, SHARED), host(2, SHARED)]
    assert sorted(drawn(plan(hosts, [need(1, of=[1, 2]), need(1, of=[1])], NO_SIZE, NOW))) == [1, 2]


def test_nothing_is_drawn_for_a_lease_that_could_not_begin_with_it() -> None:
    found = plan([host(1), host(2, SHARED), host(3, SHARED)], [need(3, of=[1, 2])], NO_SIZE, NOW)
    assert (drawn(found), given_back(found)) == ([], [])
    assert found.reasons == {1: "Lease lease waits for it"}
    assert "Nothing is drawn for lease lease: it needs 3" in found.why[-1]


def test_a_host_that_nobody_needs_makes_room_below_the_ceiling() -> None:
    found = plan([host(1), host(2, SHARED)], [need(1, of=[2])], Size(0, 1, LEAD), NOW)
    assert (drawn(found), given_back(found)) == ([2], [1])


@given(HOSTS, NEEDS, SIZES)
def test_a_plan_moves_only_what_may_move_and_keeps_to_its_bounds(
    hosts: list[DrawCandidate], needs: list[HostNeed], size: Size
) -> None:
    found = plan(hosts, needs, size, NOW)
    assert all(each.membership is SHARED and each.usable and not each.failed for each in found.draw)
    assert all(each.membership is INSIDE and each.promised is None for each in found.give_back)
    inside = sum(each.membership in (INSIDE, DRAWING) for each in hosts)
    if size.ceiling is not None and found.draw:
        assert inside + len(found.draw) - len(found.give_back) <= size.ceiling
    assert {each.number for each in (*found.draw, *found.give_back, *found.idle)} <= found.reasons.keys()


Result = tuple[tuple[int, ...], int, int, tuple[int, ...], int, int]


def best(hosts: list[DrawCandidate], needs: list[HostNeed], size: Size) -> Result:
    """Return the best that any choice of moves can do, by trying all of them.

    What is best comes first: which needs are met, in their order; the floor; few draws; what is kept for needs that
    cannot be met; few hosts kept; few servers moved.
    """
    soon = [each for each in needs if each.window.start <= NOW + LEAD]
    moving = [each for each in hosts if each.drawable or each.may_leave(NOW - LEAD)]
    lasting = [each for each in hosts if each.membership in (INSIDE, DRAWING) and each not in moving]
    found = []
    for count in range(len(moving) + 1):
        for chosen in combinations(moving, count):
            if size.ceiling is None or len(lasting) + len(chosen) <= size.ceiling or not chosen:
                draws = [each for each in chosen if each.drawable]
                for met, floor, kept in outcomes([*lasting, *chosen], soon, size.floor):
                    servers = sum(each.servers for each in draws)
                    found.append((met, floor, -len(draws), kept, -len(chosen), -servers))
    return max(found)


def outcomes(
    pool: list[DrawCandidate], needs: list[HostNeed], floor: int
) -> Iterator[tuple[tuple[int, ...], int, tuple[int, ...]]]:
    """Yield for each way to share out a pool which needs are met, how much of the floor is, and how much is kept."""
    parts = [(need, part) for need in needs for part in need.parts]
    usable = [each for each in pool if each.free(NOW) or each.comes or each.drawable]
    choices = [
        [
            None,
            *(
                place
                for place, (need, part) in enumerate(parts)
                if each.number in part.fitting and (not each.free(NOW) or each.free(need.window.end))
            ),
            *([len(parts)] if not each.free(NOW) or each.free(NOW + LEAD) else []),
        ]
        for each in usable
    ]
    for assigned in {tuple(sorted(Counter(each).items(), key=str)) for each in product(*choices)}:
        has = Counter(dict(assigned))
        got = [min(has[place], part.hosts) for place, (_, part) in enumerate(parts)]
        full = [
            all(got[place] == part.hosts for place, (one, part) in enumerate(parts) if one is need) for need in needs
        ]
        kept = tuple(
            got[place] for place, (one, _) in enumerate(parts) if not full[[need is one for need in needs].index(True)]
        )
        yield tuple(map(int, full)), min(has[len(parts)], floor), kept


SOME = st.lists(
    st.builds(
        lambda membership, since, promised, servers, usable: host(
            1,
            membership,
            since=since and hour(since),
            promised=hour(promised) if promised and membership is INSIDE else None,
            servers=servers,
            usable=usable < 9,
        ),
        st.sampled_from([INSIDE, INSIDE, SHARED, SHARED, SHARED, DRAWING]),
        st.sampled_from([None, None, -3, -0.5]),
        st.sampled_from([None, None, -1, 2, 5]),
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    min_size=2,
    max_size=5,
)
SOON = st.lists(
    st.builds(
        lambda parts, length: HostNeed("lease", tuple(parts), Window(hour(0), hour(length))),
        st.lists(st.builds(Part, st.integers(1, 2), st.frozensets(st.integers(1, 5), min_size=1)), max_size=2),
        st.integers(1, 4),
    ),
    max_size=2,
)


@given(SOME, SOON, SIZES.map(lambda size: replace(size, floor=min(size.floor, 2))))
@settings(max_examples=150)
def test_no_other_moves_do_better(some: list[DrawCandidate], needs: list[HostNeed], size: Size) -> None:
    hosts = [replace(each, number=number) for number, each in enumerate(some, 1)]
    found = plan(hosts, needs, size, NOW)
    stay = [each for each in hosts if each not in found.give_back and not each.drawable]
    done = best([*stay, *found.draw], needs, replace(size, ceiling=None))
    every = best(hosts, needs, size)
    kept = [each for each in stay if each.may_leave(NOW - LEAD)]
    servers = sum(each.servers for each in found.draw)
    mine = (*done[:2], -len(found.draw), done[3], -len(kept) - len(found.draw), -servers)
    assert mine == every


@given(HOSTS, NEEDS, SIZES)
def test_a_plan_that_is_carried_out_is_followed_by_none(
    hosts: list[DrawCandidate], needs: list[HostNeed], size: Size
) -> None:
    """Hosts do not go to and fro."""
    found = plan(hosts, needs, size, NOW)
    for _ in range(2):
        moved = {each.number: INSIDE for each in found.draw} | {each.number: SHARED for each in found.give_back}
        hosts = [
            replace(each, membership=moved[each.number], since=NOW) if each.number in moved else each for each in hosts
        ]
        found = plan(hosts, needs, size, NOW)
    assert (found.draw, found.give_back) == ((), ())
