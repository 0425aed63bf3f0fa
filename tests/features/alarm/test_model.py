"""When an alarm tells something: at each crossing, once, whatever could not be counted between."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.alarm.model import LONGEST_REASON, Alarm, AlarmState, Count, crossing
from leasehold.model.event_log import AlarmNews

NOW = datetime(2031, 5, 1, 9, tzinfo=UTC)
NEW = Alarm(
    id="a1",
    project_id="p",
    user_id="u",
    name="",
    reservation={"resource_type": "physical:host"},
    request={},
    below=3,
    duration=60,
    created_at=NOW,
)
AMOUNTS = st.lists(st.none() | st.integers(0, 6), max_size=30)


@given(AMOUNTS)
def test_events_are_the_crossings_and_alternate(amounts: list[int | None]) -> None:
    alarm, told, moments = NEW, [], []
    for minute, amount in enumerate(amounts):
        now = NOW + timedelta(minutes=minute)
        after = alarm.checked(Count(amount), now)
        news = crossing(alarm, after)
        if news is not None:
            told.append(news)
            moments.append(now)
            assert after.changed_at == now
        alarm = after
        assert (alarm.state is AlarmState.UNKNOWN) == (amount is None)
        assert (alarm.state is AlarmState.LOW) == (amount is not None and amount < 3)
        assert alarm.checked_at == now
    # The oracle has the sides of what could be counted; before them all it was not low.
    sides = [False, *(amount < 3 for amount in amounts if amount is not None)]
    wanted = [AlarmNews.LOW if after else AlarmNews.RESTORED for before, after in pairwise(sides) if before != after]
    assert told == wanted
    assert told == [AlarmNews.LOW, AlarmNews.RESTORED][: len(told)] or told[::2] == [AlarmNews.LOW] * len(told[::2])
    if moments:
        assert alarm.changed_at == moments[-1]


def test_a_reason_is_not_long() -> None:
    assert len(NEW.checked(Count(None, "x" * 5000), NOW).reason or "") == LONGEST_REASON
