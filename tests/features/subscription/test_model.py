"""Whom the threads of a manager serve, if there are more subscriptions than threads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.subscription.model import DueSubscription, fair_share

CANDIDATES = st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=40)
THREADS = st.integers(2, 20)


def named(rows: list[tuple[str, bool]], word: str) -> list[DueSubscription]:
    return [DueSubscription(f"{word}{number}", project, slow) for number, (project, slow) in enumerate(rows)]


@given(CANDIDATES, CANDIDATES, THREADS)
def test_no_project_and_no_slow_receiver_gets_more_than_its_share(
    waiting: list[tuple[str, bool]], running: list[tuple[str, bool]], threads: int
) -> None:
    wanted = named(waiting, "w")
    busy = fair_share(named(running, "b"), [], threads)
    chosen = fair_share(wanted, busy, threads)
    for mine in {(each.project_id, each.slow) for each in wanted}:
        own = [each for each in wanted if (each.project_id, each.slow) == mine]
        assert [each for each in chosen if each in own] == own[: sum(each in chosen for each in own)]
    together = [*busy, *chosen]
    assert len(together) <= threads

    def full(each: DueSubscription) -> bool:
        mine = sum(other.project_id == each.project_id for other in together)
        slow = sum(other.slow for other in together)
        slow_of_mine = sum(other.slow and other.project_id == each.project_id for other in together)
        assert mine <= max(1, threads // 4)
        assert slow <= threads // 2
        assert slow_of_mine <= max(1, threads // 8)
        no_more_slow = slow == threads // 2 or slow_of_mine == max(1, threads // 8)
        return mine == max(1, threads // 4) or (each.slow and no_more_slow) or len(together) == threads

    assert all(full(each) for each in wanted if each not in chosen)


def test_receivers_that_hang_leave_the_others_their_threads() -> None:
    hanging = [DueSubscription(f"h{number}", f"p{number}", slow=True) for number in range(100)]
    busy = fair_share(hanging, [], 16)
    assert len(busy) == 8
    healthy = [DueSubscription("well", "p0", slow=False)]
    assert fair_share([*hanging, *healthy], busy, 16) == healthy


def test_what_is_new_in_one_project_does_not_wait_for_what_hangs_in_two_others() -> None:
    hanging = [DueSubscription(f"h{number}", f"p{number % 2}", slow=True) for number in range(40)]
    busy = fair_share(hanging, [], 16)
    new = [DueSubscription("new", "p2", slow=True)]
    assert fair_share([*hanging, *new], busy, 16) == new


def test_the_slow_half_is_served_by_project_in_turn() -> None:
    """Four projects have all slow threads; the next that is free goes to a fifth, which has waited less."""
    hanging = [DueSubscription(f"h{number}", f"p{number // 20}", slow=True) for number in range(80)]
    busy = fair_share(hanging, [], 16)
    assert [each.project_id for each in busy] == ["p0", "p1", "p2", "p3"] * 2
    new = DueSubscription("new", "p4", slow=True)
    assert fair_share([*(each for each in hanging if each not in busy), new], busy[1:], 16) == [new]
