"""The tag of a timeline: it is read as it was written, nothing else is one, and it says how long it may hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.timeline.tag import LONGEST, OVERLAP, Tag, since_of

NOW = datetime(2031, 5, 1, 9, 0, 0, 400_000, tzinfo=UTC)
SINCE = since_of(NOW)
DIGEST = "0123456789abcdef" * 2


@given(st.none() | st.integers(0, 10**12 - 1), st.integers(0, 10**10 - 1))
def test_a_tag_is_read_as_it_was_written(until: int | None, since: int) -> None:
    text = f"{DIGEST}.{'-' if until is None else until}.{since}"
    tag = Tag.read(text)
    assert tag is not None
    assert str(tag) == text
    assert tag.until == until


@pytest.mark.parametrize(
    "text", ["", "x", f"{DIGEST}.-", f"{DIGEST}.-.", f"{DIGEST}.1.{10**10}", f"{DIGEST}.-1.1", f"{DIGEST}.-.٣", "*"]
)
def test_anything_else_is_none(text: str) -> None:
    assert Tag.read(text) is None


def test_it_holds_for_a_day_and_until_time_alone_changes_the_answer() -> None:
    assert SINCE <= NOW - OVERLAP
    for_ever = Tag(DIGEST, None, SINCE)
    assert for_ever.may_hold(NOW)
    assert for_ever.may_hold(SINCE + OVERLAP + LONGEST)
    assert not for_ever.may_hold(SINCE + OVERLAP + LONGEST + timedelta(seconds=1))
    assert not for_ever.may_hold(SINCE - timedelta(seconds=1))
    until = int(NOW.timestamp()) + 10
    assert Tag(DIGEST, until, SINCE).may_hold(NOW + timedelta(seconds=9))
    assert not Tag(DIGEST, until, SINCE).may_hold(NOW + timedelta(seconds=10))
