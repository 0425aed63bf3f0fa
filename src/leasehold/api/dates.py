"""Dates in requests and answers (contract http-api §4).

Microversion 1.0 takes `now` and `YYYY-MM-DD HH:MM`, in UTC. From 1.1 on ISO 8601 to the second is accepted as well. Its
time zone is mandatory, because a date without one is ambiguous; one with six decimals is as answers write it, in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leasehold.api.versions import ISO_DATES, Version
from leasehold.model.errors import InvalidDateError
from leasehold.model.windows import is_storable, to_minute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NOW = "now"
V1_FORMAT = "%Y-%m-%d %H:%M"
V1_FORM = re.compile(r"\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}", re.ASCII)
ISO_FORM = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.0{1,6})?)?(Z|[+-]\d\d:\d\d)", re.ASCII)
EXACT_FORM = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)", re.ASCII)
WIRE_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", re.ASCII)
"""What `to_wire` writes."""
# Dates are in UTC, so a cut after this many characters removes only the offset. The formatted dates are cached, because
# a list repeats most of its thousands: a lease and its parts were created at once, and its events have its own dates.
_TO_MICROSECONDS = len("YYYY-MM-DDTHH:MM:SS.ffffff")
_TO_SECONDS = len("YYYY-MM-DD HH:MM:SS")


def parse(text: str, *, version: Version, now: datetime, field: str) -> datetime:
    """Return the date that a client wrote, aware and in UTC; `now` becomes the current second, and at 1.0 the minute.

    Raises `InvalidDateError` naming `field`, with the message that v1 clients know.
    """
    if text == NOW:
        return now.replace(microsecond=0) if version >= ISO_DATES else to_minute(now)
    if V1_FORM.fullmatch(text):
        moment = _v1(text)
    elif version >= ISO_DATES and ISO_FORM.fullmatch(_zoned(text)):
        moment = _iso(_zoned(text))
    else:
        moment = None
    if moment is None or not is_storable(moment):
        raise InvalidDateError(_sentence(text, version), field=field)
    return moment


def parse_optional(text: str | None, *, version: Version, now: datetime, field: str) -> datetime | None:
    """Return the date, or None for an absent, null or empty value, so that the configured default applies."""
    return parse(text, version=version, now=now, field=field) if text else None


def parse_moment(text: str, *, version: Version, now: datetime, field: str) -> datetime:
    """Return the past moment that a client wrote: as `parse` does, but to the microsecond, and `now` is this moment.

    Raises `InvalidDateError`.
    """
    moment = now if text == NOW else _iso(_zoned(text)) if EXACT_FORM.fullmatch(_zoned(text)) else None
    return moment if moment is not None and is_storable(moment) else parse(text, version=version, now=now, field=field)


def _zoned(text: str) -> str:
    return f"{text}Z" if WIRE_FORM.fullmatch(text) else text


def _v1(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, V1_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _sentence(text: str, version: Version) -> str:
    shown = text if len(text) <= 80 else f"{text[:80]}..."  # noqa: PLR2004 - enough to recognise one's own input.
    sentence = f"{shown} is an invalid date. Required format: {V1_FORMAT}"
    if version < ISO_DATES:
        return sentence
    return f"{sentence}, or ISO 8601 to the second with a time zone, such as 2031-05-01T10:00:00Z"


@lru_cache(maxsize=4096)
def to_wire(moment: datetime) -> str:
    """Return `YYYY-MM-DDTHH:MM:SS.ffffff` in UTC without a zone: the exact format that clients parse in leases."""
    return moment.isoformat(timespec="microseconds")[:_TO_MICROSECONDS]


@lru_cache(maxsize=4096)
def to_record(moment: datetime | None) -> str | None:
    """Return `YYYY-MM-DD HH:MM:SS` in UTC, or None: the format of `created_at` and `updated_at`."""
    return None if moment is None else str(moment)[:_TO_SECONDS]


def to_wire_or_none(moment: datetime | None) -> str | None:
    """Return the date as `to_wire` does, or None."""
    return None if moment is None else to_wire(moment)


def to_iso(moment: datetime | None) -> str | None:
    """Return a moment in ISO 8601 with the zone, None where there is none."""
    return None if moment is None else moment.isoformat()


def show_moments(moments: Sequence[int] | NDArray[np.int64]) -> list[str]:
    """Return seconds since the epoch as dates; numpy formats thousands of them in a millisecond."""
    found: list[str] = np.datetime_as_string(np.array(moments, "datetime64[s]"), timezone="UTC").tolist()
    return found
