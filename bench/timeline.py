"""The timeline of an estate over HTTP: milliseconds, and bytes with and without compression.

500 hosts with 5,000 leases, and 2,000 with 50,000, spread over 120 days; 14 of these days are asked for, and all.
"""

from __future__ import annotations

import json
from datetime import timedelta
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

import requests

from bench.client import ISO
from bench.deployment import running
from bench.fill import filled_estate, first_day
from bench.row import Row
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from requests import Session

SIZES: Final = ((500, 5_000), (2_000, 50_000))
DAYS: Final = 120
WINDOWS: Final = {"14 days": (30, 44), "all": (0, DAYS)}
OURS: Final = 20
"""One lease in so many is of the project that asks."""
REPEATED: Final = 9
PATIENCE_SECONDS: Final = 120.0
MEMBER: Final = {"X-User-Id": "filler", "X-Project-Id": "demo", "X-Roles": "member,reader"}
CALLERS: Final = {"member": MEMBER, "operator": {**MEMBER, "X-Roles": "admin,member,reader"}}
VERSION: Final = {"OpenStack-API-Version": "reservation 1.3"}


class Seen(NamedTuple):
    """Answers to the same question: the median of their milliseconds, the bytes of one, its bars and its ETag."""

    milliseconds: float
    size: int
    bars: int
    tag: str


def run(*, quick: bool = False) -> list[Row]:
    """Measure one client on MariaDB; quick: the smaller estate alone."""
    return [row for hosts, leases in (SIZES[:1] if quick else SIZES) for row in _measure(hosts, leases)]


def _measure(hosts: int, leases: int) -> Iterator[Row]:
    with new_database("mariadb") as url:
        filled_estate(url, hosts, leases, DAYS, ours=OURS)
        with running("leasehold-api", database_url=url) as api, requests.Session() as session:
            for name, days in WINDOWS.items():
                for caller in CALLERS:
                    what = f"timeline, {hosts:,} hosts, {leases:,} leases, {name}, {caller}"
                    yield from _rows(session, api.url, what, days, caller)


def _rows(session: Session, url: str, what: str, days: tuple[int, int], caller: str) -> Iterator[Row]:
    start, end = (f"{first_day() + timedelta(days=day):{ISO}}" for day in days)
    address, headers = f"{url}/timeline?from={start}&to={end}", {**CALLERS[caller], **VERSION}
    plain = _ask(session, address, {**headers, "Accept-Encoding": "identity"})
    packed = _ask(session, address, {**headers, "Accept-Encoding": "gzip"})
    same = _ask(session, address, {**headers, "If-None-Match": packed.tag})
    if same.size:
        message = f"{what}: an answer that has not changed was sent again."
        raise RuntimeError(message)
    trivial = _ask(session, f"{url.removesuffix('/v1')}/versions", headers).milliseconds
    yield Row(f"{what}: bars", plain.bars, "")
    yield Row(f"{what}, p50", packed.milliseconds, "ms", None, trivial, "trivial requests")
    yield Row(f"{what}: bytes, gzip", packed.size / 1024, "KiB", None, plain.size / 1024, "without compression")
    yield Row(f"{what}, unchanged, p50", same.milliseconds, "ms", None, trivial, "trivial requests")


def _ask(session: Session, url: str, headers: dict[str, str]) -> Seen:
    seconds, content, bars, tag = [], b"", 0, ""
    for number in range(REPEATED + 1):
        begun = perf_counter()
        with session.get(url, headers=headers, stream=True, timeout=PATIENCE_SECONDS) as answer:
            answer.raise_for_status()
            content = answer.raw.read(decode_content=False)
            tag = answer.headers.get("ETag", "")
        if number:
            seconds.append(perf_counter() - begun)
    if content and headers.get("Accept-Encoding") == "identity":
        bars = len(json.loads(content)["timeline"]["bars"]["row"])
    return Seen(1000 * median(seconds), len(content), bars, tag)
