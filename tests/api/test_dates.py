"""Contract http-api §4: dates in requests and answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.api import dates
from leasehold.api.versions import V1_0, V1_1, Version
from leasehold.model.errors import InvalidDateError
from tests.bad_input.values import NO_DATE_TEXT, WRONG_ISO, ZONED

NOW = datetime(2031, 5, 1, 9, 30, 40, 123456, tzinfo=UTC)
V1 = {
    "2031-05-01 10:00": datetime(2031, 5, 1, 10, 0, tzinfo=UTC),
    "2031-5-1 1:2": datetime(2031, 5, 1, 1, 2, tzinfo=UTC),
    "2032-02-29 23:59": datetime(2032, 2, 29, 23, 59, tzinfo=UTC),
}
ISO = {
    "2031-05-01T10:00:30Z": datetime(2031, 5, 1, 10, 0, 30, tzinfo=UTC),
    "2031-05-01T10:00:30+02:00": datetime(2031, 5, 1, 8, 0, 30, tzinfo=UTC),
    "2031-05-01 10:00-00:30": datetime(2031, 5, 1, 10, 30, tzinfo=UTC),
    "2031-05-01T10:00:00.000000Z": datetime(2031, 5, 1, 10, 0, tzinfo=UTC),
    "2031-05-01T10:00:30.000000": datetime(2031, 5, 1, 10, 0, 30, tzinfo=UTC),
}
V1_REQUIRED = "is an invalid date. Required format: %Y-%m-%d %H:%M"
ISO_REQUIRED = f"{V1_REQUIRED}, or ISO 8601 to the second with a time zone, such as 2031-05-01T10:00:00Z"


def parse(text: str, version: Version = V1_0) -> datetime:
    return dates.parse(text, version=version, now=NOW, field="start_date")


@pytest.mark.parametrize(
    ("version", "text", "moment"),
    [
        (V1_0, "now", datetime(2031, 5, 1, 9, 30, tzinfo=UTC)),
        (V1_1, "now", datetime(2031, 5, 1, 9, 30, 40, tzinfo=UTC)),
        *((version, *row) for version in (V1_0, V1_1) for row in V1.items()),
        *((V1_1, *row) for row in ISO.items()),
    ],
)
def test_in_what_is_a_date(version: Version, text: str, moment: datetime) -> None:
    """`now` and v1's form in every version; from 1.1 on also ISO 8601 with a zone, and `now` to the second."""
    assert parse(text, version) == moment
    assert parse(text, version).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("version", "text"),
    [*product((V1_0,), ["", *NO_DATE_TEXT, *ZONED, *WRONG_ISO]), *product((V1_1,), ["", *NO_DATE_TEXT, *WRONG_ISO])],
    ids=lambda value: repr(value)[:40],
)
def test_in_anything_else_is_refused(version: Version, text: str) -> None:
    """The message repeats the text, at most 80 characters of it, with the required format; from 1.1 on with both."""
    with pytest.raises(InvalidDateError) as caught:
        parse(text, version)
    shown = text if len(text) <= 80 else f"{text[:80]}..."
    assert caught.value.message == f"{shown} {V1_REQUIRED if version == V1_0 else ISO_REQUIRED}"
    assert caught.value.field == "start_date"


@given(st.text(), st.sampled_from([V1_0, V1_1]))
def test_any_text_is_a_date_or_a_400(text: str, version: Version) -> None:
    try:
        moment = parse(text, version)
    except InvalidDateError:
        return
    assert moment.tzinfo is UTC


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9998, 12, 30)))  # noqa: DTZ001 - the zone follows
def test_what_was_shown_can_be_sent_back_from_1_1(naive: datetime) -> None:
    moment = naive.replace(microsecond=0, tzinfo=UTC)
    for text in (dates.to_wire(moment), f"{dates.to_wire(moment)}Z"):
        assert parse(text, V1_1) == moment
    assert parse(moment.astimezone(timezone(timedelta(hours=-7))).isoformat(), V1_1) == moment


@pytest.mark.parametrize("text", [None, ""])
def test_optional_null_and_empty_mean_the_default(text: str | None) -> None:
    assert dates.parse_optional(text, version=V1_0, now=NOW, field="before_end_date") is None


def test_out_exact_forms() -> None:
    assert dates.to_wire(NOW) == "2031-05-01T09:30:40.123456"
    assert dates.to_wire(NOW.replace(microsecond=0)) == "2031-05-01T09:30:40.000000"
    assert dates.to_record(NOW) == "2031-05-01 09:30:40"
    assert dates.to_record(None) is None
    assert dates.to_wire_or_none(None) is None
