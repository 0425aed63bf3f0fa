"""What others have, merged: at each second as if it were counted, and in as few parts as possible."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.taken import Taken

ROWS, END = 3, 30
Part = tuple[int, int, int, dict[str, int] | None]
"""Row, start, length, and the amounts or None for the whole."""
AMOUNTS = st.fixed_dictionaries({"VCPU": st.integers(0, 3), "DISK_GB": st.integers(0, 1)})
PARTS = st.lists(
    st.tuples(st.integers(0, ROWS - 1), st.integers(0, END - 8), st.integers(1, 8), st.none() | AMOUNTS), max_size=12
)


def taken(parts: list[Part]) -> Taken:
    names = sorted({name for *_, amounts in parts for name in amounts or ()})
    return Taken(
        np.array([row for row, *_ in parts], np.int64),
        np.array([start for _, start, *_ in parts], np.int64),
        np.array([start + length for _, start, length, _ in parts], np.int64),
        np.array([amounts is None for *_, amounts in parts], np.bool_),
        {name: np.array([(amounts or {}).get(name, 0) for *_, amounts in parts], np.int64) for name in names},
    )


def counted(parts: list[Part], row: int, second: int) -> dict[str, int] | None:
    """Return what is taken of a row at a second: None for all of it."""
    total: dict[str, int] = {}
    for where, start, length, amounts in parts:
        if where == row and start <= second < start + length:
            if amounts is None:
                return None
            for name, amount in amounts.items():
                total[name] = total.get(name, 0) + amount
    return {name: amount for name, amount in total.items() if amount}


def filled(states: list[dict[str, int] | None], gap: int) -> list[dict[str, int] | None]:
    """Return the states of a row with short free times between whole runs taken as well."""
    found = list(states)
    wholes = [second for second, state in enumerate(states) if state is None]
    for one, other in itertools.pairwise(wholes):
        between = states[one + 1 : other]
        if between and len(between) <= gap and not any(between):
            found[one + 1 : other] = [None] * len(between)
    return found


@pytest.mark.slow
@given(PARTS.filter(bool), st.lists(st.integers(0, 5), min_size=ROWS, max_size=ROWS))
def test_merged_parts_are_what_is_counted_at_each_second(parts: list[Part], gaps: list[int]) -> None:
    merged = list(taken(parts).merged(np.array(gaps, np.int64)))
    for row in range(ROWS):
        expected = filled([counted(parts, row, second) for second in range(END)], gaps[row])
        mine = [each for each in merged if each[0] == row]
        found: list[dict[str, int] | None] = [{}] * END
        for _, start, end, amounts in mine:
            assert start < end
            for second in range(start, end):
                assert found[second] == {}
                found[second] = None if amounts is None else dict(amounts)
        assert found == expected
        for one, other in itertools.pairwise(mine):
            assert one[2] <= other[1]
            assert one[2] < other[1] or one[3] != other[3]
    assert merged == sorted(merged, key=lambda each: each[:2])
