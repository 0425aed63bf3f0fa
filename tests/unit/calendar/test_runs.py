"""Runs find the same as a scan of every position."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.runs import Runs

sorted_rows = st.lists(st.integers(0, 12), max_size=30).map(sorted)


@given(sorted_rows, st.sets(st.integers(0, 15)))
def test_the_places_of_some_rows(rows: list[int], wanted: set[int]) -> None:
    found = Runs(np.array(rows, np.int32)).places(np.array(sorted(wanted), np.intp))
    assert found.tolist() == [place for place, row in enumerate(rows) if row in wanted]


@given(sorted_rows, st.data())
def test_the_rows_of_some_places(rows: list[int], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    found = Runs(np.array(rows, np.int32)).touched(np.array(chosen, np.bool_))
    assert found.tolist() == sorted({row for row, some in zip(rows, chosen, strict=True) if some})
