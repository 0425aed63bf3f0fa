"""Laws of when a no-show is due: warned first, half of the time before and after, never at or after the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.terms.no_show import NEVER, NoShow, changed

START = datetime(2031, 5, 1, 9, 0, tzinfo=UTC)
SECONDS = st.integers(0, 10_000).map(lambda seconds: timedelta(seconds=seconds))
MOMENTS = SECONDS.map(lambda passed: START + passed)
TIMES = st.integers(1, 2**31 - 1).map(lambda seconds: timedelta(seconds=seconds))
SOME = st.builds(NoShow, TIMES, st.none() | MOMENTS)


@given(SOME, MOMENTS)
def test_the_warning_comes_at_half_of_the_time_and_the_release_after_it(no_show: NoShow, end: datetime) -> None:
    warning = no_show.due(START, end)
    begin = no_show.counts_from(START)
    assert (warning is None) == (end - begin <= no_show.after)
    if warning is not None:
        assert warning == begin + no_show.after / 2
        assert replace(no_show, warned_at=warning).due(START, end) == begin + no_show.after < end


@given(SOME, MOMENTS, SECONDS)
def test_half_of_the_time_is_left_after_a_late_warning(no_show: NoShow, end: datetime, late: timedelta) -> None:
    warning = no_show.due(START, end)
    if warning is not None:
        release = replace(no_show, warned_at=warning + late).due(START, end)
        assert release is None or warning + late + no_show.after / 2 <= release < end


@given(SOME, MOMENTS)
def test_nothing_is_due_when_it_is_done_or_switched_off(no_show: NoShow, end: datetime) -> None:
    assert replace(no_show, done=True).due(START, end) is None
    assert replace(no_show, after=NEVER).due(START, end) is None


@given(before=SOME, after=st.just(NEVER) | TIMES, now=MOMENTS, started=st.booleans(), anew=st.booleans())
def test_an_amendment_counts_anew_only_where_it_asks_for_something_else(
    before: NoShow, after: timedelta, now: datetime, *, started: bool, anew: bool
) -> None:
    known = replace(before, warned_at=START, used=frozenset({1}), done=True)
    amended = changed(known, after, now, started=started, anew=anew)
    assert amended is not None
    assert amended.after == after
    if after == before.after and not (started and anew):
        assert amended == known
    else:
        assert amended == NoShow(after, now if started else None)
        assert amended.claims == started


@given(after=st.just(NEVER) | TIMES, now=MOMENTS, started=st.booleans(), anew=st.booleans())
def test_a_reservation_without_a_time_gets_one_only_if_it_asks(
    after: timedelta, now: datetime, *, started: bool, anew: bool
) -> None:
    amended = changed(None, after, now, started=started, anew=anew)
    assert (amended is None) == (after == NEVER)
