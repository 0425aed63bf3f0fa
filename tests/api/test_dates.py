"""Contract http-api §4: dates in requests and answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.api import dates
from leasehold.api.versions import V1_0, V1_1, Version
from leasehold.model.errors import InvalidDateError

NOW = datetime(2031, 5, 1, 9, 30, 40, 123456, tzinfo=UTC)


def parse(text: str, version: Version = V1_0) -> datetime:
    return dates.parse(text, version=version, now=NOW, field="start_date")


@pytest.mark.parametrize("version", [V1_0, V1_1])
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", datetime(2031, 5, 1, 9, 30, tzinfo=UTC)),
        ("2031-05-01 10:00", datetime(2031, 5, 1, 10, 0, tzinfo=UTC)),
        ("2031-5-1 1:2", datetime(2031, 5, 1, 1, 2, tzinfo=UTC)),
        ("2032-02-29 23:59", datetime(2032, 2, 29, 23, 59, tzinfo=UTC)),
    ],
)
def test_in_what_v1_clients_write(text: str, moment: datetime, version: Version) -> None:
    assert parse(text, version) == moment


@pytest.mark.parametrize(
    "text",
    [
        "Bogus-date 13:13",
        "",
        " 2031-05-01 10:00",
        "2031-05-01 10:00 ",
        "2031-05-01",
        "2031-05-01 10:00:30",
        "2031-05-01T10:00",
        "2031-02-30 10:00",
        "2031-05-01 24:00",
        "0001-01-01 00:00",
        "9999-12-31 23:59",
        "NOW",
        "٢٠٣١-05-01 10:00",
        "2031-05-01T10:00:00Z",
    ],
)
def test_in_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidDateError) as caught:
        parse(text)
    assert caught.value.message == f"{text} is an invalid date. Required format: %Y-%m-%d %H:%M"
    assert caught.value.field == "start_date"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2031-05-01T10:00:30Z", datetime(2031, 5, 1, 10, 0, 30, tzinfo=UTC)),
        ("2031-05-01T10:00:30+02:00", datetime(2031, 5, 1, 8, 0, 30, tzinfo=UTC)),
        ("2031-05-01 10:00-00:30", datetime(2031, 5, 1, 10, 30, tzinfo=UTC)),
        ("2031-05-01T10:00:00.000000Z", datetime(2031, 5, 1, 10, 0, tzinfo=UTC)),
    ],
)
def test_in_from_1_1_iso_8601_with_a_zone(text: str, moment: datetime) -> None:
    assert parse(text, V1_1) == moment
    assert parse(text, V1_1).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "2031-05-01T10:00:30",  # No zone: ambiguous.
        "2031-05-01T10:00:30.5Z",
        "2031-05-01T10:00:30+25:00",
        "9999-12-31T23:59:59-10:00",
        "0001-01-01T00:00:00+10:00",
        "20310501T100030Z",
        "2031-W18-4T10:00:00Z",
    ],
)
def test_in_from_1_1_other_iso_forms_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidDateError, match="such as 2031-05-01T10:00:00Z"):
        parse(text, V1_1)


def test_a_long_bad_date_is_not_repeated_in_full() -> None:
    with pytest.raises(InvalidDateError) as caught:
        parse("x" * 100_000)
    assert len(caught.value.message) < 200


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
    assert parse(dates.to_wire(moment) + "Z", V1_1) == moment
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
