"""The order in which events get their positions, and the form of a cursor."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.errors import InvalidInputError
from leasehold.model.event_log import Cursor, in_order, read_cursor

NONCE = "0123456789abcdef"


@dataclass(frozen=True)
class Row:
    id: int
    lease_id: str
    generation: int | None


ROWS = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.integers(0, 3) | st.none()), max_size=30).map(
    lambda each: [Row(number, lease, generation) for number, (lease, generation) in enumerate(each)]
)


@given(ROWS)
def test_each_lease_keeps_its_places_and_has_its_events_by_generation(rows: list[Row]) -> None:
    ordered = in_order(rows)
    assert [row.lease_id for row in ordered] == [row.lease_id for row in rows]
    for lease in ("", "a", "b", "c"):
        mine = [row for row in rows if row.lease_id == lease]
        if lease and None not in {row.generation for row in mine}:
            # Of one generation the key decides: these events are of one transaction.
            mine = [row for step in range(4) for row in mine if row.generation == step]
        assert [row for row in ordered if row.lease_id == lease] == mine


@pytest.mark.parametrize("cursor", [Cursor(0, NONCE), Cursor(1, NONCE), Cursor(10**17, NONCE)])
def test_a_cursor_is_read_as_it_is_written(cursor: Cursor) -> None:
    assert read_cursor(str(cursor)) == cursor


@pytest.mark.parametrize(
    "text",
    ["", "1", "-1", f"01-{NONCE}", f"-1-{NONCE}", f"1-{NONCE}0", f"1-{NONCE[:-1]}G", f"{10**18}-{NONCE}", "\x00"],
)
def test_other_texts_are_no_cursors(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_cursor(text)
    assert caught.value.field == "after"
