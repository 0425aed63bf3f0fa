"""The threads of an API stay on one processor, the one with the least other work, unless somebody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.deployment import fresh_service
from leasehold.cmd.one_cpu import MARGIN, Used, chosen, ticks_of
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Program

STAT = """cpu  30 0 10 60 5 1 2 0 7 0
cpu0 10 0 5 30 5 1 2 0 7 0
cpu12 20 0 5 30 0 0 0 0 0 0
intr 12345 0 0
"""
SHARES = st.dictionaries(st.integers(0, 4), st.floats(0, 1), min_size=1)
ALL = os.sched_getaffinity(0)


def test_the_ticks_of_each_processor_are_read() -> None:
    assert ticks_of(STAT) == {0: (53, 18), 12: (55, 25)}


def test_shares_are_of_the_time_between_two_looks() -> None:
    before = Used({0: (1000, 100), 1: (1000, 900)}, 5.0, 10.0)
    after = Used({0: (1200, 150), 1: (1200, 1100), 2: (0, 0)}, 5.5, 12.0)
    assert after.shares_since(before) == ({0: 0.25, 1: 1.0, 2: 0.0}, 0.25)


@given(SHARES, st.floats(0, 1), st.data())
def test_nothing_else_has_much_less_to_do_for_others(shares: dict[int, float], own: float, data: st.DataObject) -> None:
    at = data.draw(st.none() | st.sampled_from(sorted(shares)))
    better = chosen(at, shares, own)
    others = {cpu: share - (own if cpu == at else 0.0) for cpu, share in shares.items()}
    assert others[better] <= min(others.values()) + MARGIN
    # It does not move for less.
    assert better == at or at is None or others[at] > min(others.values()) + MARGIN


@pytest.fixture
def api() -> Iterator[Program]:
    with fresh_service(2) as made:
        yield made


def threads(api: Program) -> list[int]:
    """Return the threads of a program."""
    return [int(each.name) for each in Path(f"/proc/{api.process.pid}/task").iterdir()]


def processors(api: Program) -> set[frozenset[int]]:
    """Return the sets of processors that the threads of a program may run on."""
    return {frozenset(os.sched_getaffinity(each)) for each in threads(api)}


@pytest.mark.slow
def test_all_threads_of_an_api_are_on_the_same_processor_until_it_is_set_from_outside(api: Program) -> None:
    wait_for(lambda: len(found := processors(api)) == 1 and all(len(each) == 1 for each in found))
    watched = len(threads(api))
    for thread in threads(api):
        os.sched_setaffinity(thread, ALL)
    # The thread that watches ends; on a machine with one processor there is none.
    wait_for(lambda: len(ALL) == 1 or len(threads(api)) == watched - 1)
    assert processors(api) == {frozenset(ALL)}
