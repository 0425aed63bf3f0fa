"""Dates in every wrong form, in every date field of a request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bad_input.conftest import Target

pytestmark = pytest.mark.slow

WRONG: list[Any] = [
    "tomorrow",
    "now ",
    " now",
    "NOW",
    "now\n",
    "2031-05-05",
    "10:00",
    "2031-05-05 10",
    "2031-05-05T10:00",
    "2031-05-05 10:00:00",
    "2031-05-05 10:00 ",
    " 2031-05-05 10:00",
    "2031-05-05  10:00",
    "2031-05-05 10:00\n",
    "2031/05/05 10:00",
    "05-05-2031 10:00",
    "31-05-05 10:00",
    "2031-02-30 10:00",
    "2031-02-29 10:00",
    "2031-13-01 10:00",
    "2031-00-01 10:00",
    "2031-01-00 10:00",
    "2031-05-05 24:00",
    "2031-05-05 10:60",
    "2031-05-05 -1:00",
    "0000-01-01 10:00",
    "0001-01-01 10:00",
    "1969-12-31 23:59",
    "9999-12-31 23:59",
    "10000-01-01 10:00",
    "99999999999999999999-01-01 10:00",
    "-2031-05-05 10:00",
    "+2031-05-05 10:00",
    "٢٠٣١-05-05 10:00",
    "\uff12\uff10\uff13\uff11-05-05 10:00",
    "2031\u201005\u201005 10:00",
    "2031-05-05\u00a010:00",
    "' OR 1=1 --",
    "%s%n%d",
    "{0.__class__}",
    "x" * 100_000,
    *(1, 0, -1, 1.5, 2**31, 20310505, True, [], ["now"], {}, {"date": "now"}),
]
ZONED = [
    "2031-05-05T10:00Z",
    "2031-05-05T10:00:00Z",
    "2031-05-05 10:00+00:00",
    "2031-05-05T10:00:00.000000+02:00",
    "2031-05-05 10:00 UTC",
    "2031-05-05 10:00 Z",
]
WRONG_ISO = [
    "2031-05-05T10:00:00",
    "2031-05-05T10:00:00+25:00",
    "2031-05-05T10:00:00+0000",
    "2031-05-05T10:00:61Z",
    "2031-05-05T10:00:00.5Z",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
    "2031-W19-1T10:00:00Z",
    "20310505T100000Z",
]
FIELDS = ("start_date", "end_date", "before_end_date")
DATES = {"start_date": "2031-05-05 08:00", "end_date": "2031-05-05 12:00"}


def places() -> Iterator[tuple[str, str, dict[str, Any], str]]:
    for field in FIELDS:
        yield "POST", "/leases", {"name": "n", **DATES}, field
        yield "PUT", "/leases/{lease}", {}, field


@pytest.mark.parametrize(("method", "path", "body", "field"), list(places()), ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_dates_that_are_none(
    target: Target, method: str, path: str, body: dict[str, Any], field: str, version: str
) -> None:
    """Each wrong form is 400 for its field, and nothing is stored; only version 1.1 accepts dates with a zone."""
    accepted = []
    for value in [*WRONG, *(ZONED if version == "1.0" else WRONG_ISO)]:
        answer = target.ask(
            method, path, {**body, field: value}, headers={"OpenStack-API-Version": f"reservation {version}"}
        )
        if answer.status_code != 400 or answer.json["field"] != field:
            accepted.append((repr(value)[:60], answer.status_code, answer.text[:200]))
        else:
            target.refuses(answer)
    assert accepted == []


@pytest.mark.parametrize(("method", "path"), [("POST", "/leases"), ("PUT", "/leases/{lease}")])
def test_dates_that_only_raw_json_can_say(target: Target, method: str, path: str) -> None:
    """NUL, a lone surrogate and numbers beyond every type are refused before the field is parsed."""
    for raw in ('"2031-05-05 10:00\\u0000"', '"\\ud800"', "1e400", "-1e400", "1" + "0" * 30, "NaN", "Infinity"):
        body = json.dumps({"name": "n", **DATES}).replace('"2031-05-05 08:00"', raw)
        target.refuses(target.send(method, path, body.encode()), 400)


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"start_date": "2031-05-01 09:30"}, 400, "start_date"),
        ({"start_date": "2031-05-05 12:00"}, 400, "end_date"),
        ({"end_date": "now"}, 400, "end_date"),
        ({"before_end_date": "2031-05-05 08:00"}, 403, "before_end_date"),
        ({"before_end_date": "2031-05-05 12:00"}, 403, "before_end_date"),
        ({"before_end_date": "now"}, 403, "before_end_date"),
    ],
    ids=str,
)
def test_dates_in_the_wrong_order(target: Target, change: dict[str, str], status: int, field: str) -> None:
    """A start in the past, an end not after the start, and a before_end outside the lease are refused."""
    target.refuses(target.ask("POST", "/leases", {"name": "n", **DATES, **change}), status, field=field)


@pytest.mark.parametrize(
    ("lease", "change", "status", "field"),
    [
        ("/leases/{active}", {"start_date": "2031-05-01 09:31"}, 400, "start_date"),
        ("/leases/{active}", {"start_date": "now"}, 400, "start_date"),
        ("/leases/{active}", {"end_date": "2031-05-01 09:30"}, 400, "end_date"),
        ("/leases/{lease}", {"start_date": "2031-05-01 09:30"}, 400, "start_date"),
        ("/leases/{lease}", {"end_date": "2031-05-02 09:29"}, 400, "end_date"),
        ("/leases/{lease}", {"before_end_date": "2031-05-02 09:30"}, 403, "before_end_date"),
        ("/leases/{lease}", {"before_end_date": "2031-06-01 09:30"}, 403, "before_end_date"),
    ],
    ids=str,
)
def test_updates_to_the_wrong_order(
    target: Target, lease: str, change: dict[str, str], status: int, field: str
) -> None:
    """Updates that set a past start, move a passed start, or set an end in the past or before the start are refused."""
    target.refuses(target.ask("PUT", lease, change), status, field=field)
