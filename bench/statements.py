"""How many SQL statements the creation of a lease takes, with few and with many leases in the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from bench.client import ISO, AnswerError
from bench.deployment import HOST, INSTANCE, lease
from bench.fill import BUSY, filled, first_day
from bench.inside import Inside, inside
from bench.row import Row
from leasehold.cloud.sandbox import seed
from tests.servers import new_database

MOST: Final = {10: 10, 10_000: 13}
"""By the leases that are present. Those of a large project are not counted, so its windows are read (record 0116)."""
ONE: Final = {**HOST, "min": 1, "max": 1}
FLAVOR: Final = {"resource_type": "flavor:instance", "flavor_id": "m1.small", "amount": 1, "affinity": None}
ADDRESS: Final = {"resource_type": "virtual:floatingip", "network_id": seed.NETWORK_ID, "amount": 1}


def run(*, quick: bool = False) -> list[Row]:
    """Count for one reservation and for one of each type, with few leases present and with many."""
    rows: list[Row] = []
    for present in (10,) if quick else (10, 10_000):
        with new_database("sqlite") as url:
            filled(url, 100, present)
            with inside(url) as api:
                rows += _counts(api, present)
    return rows


def _counts(api: Inside, present: int) -> list[Row]:
    address = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": seed.SUGGESTED_FLOATING_IPS[0]}
    _ask(api, "/floatingips", address)
    _create(api, 0, ONE, ADDRESS)  # Loads the calendars.
    most = MOST[present]
    return [
        Row(f"SQL statements of a create, {what}, {present:,} leases present", _create(api, day, *parts), "", most)
        for day, (what, parts) in enumerate(
            (("1 reservation", (ONE,)), ("4 reservations of 4 types", (ONE, INSTANCE, FLAVOR, ADDRESS))), start=1
        )
    ]


def _create(api: Inside, day: int, *parts: dict[str, Any]) -> int:
    start = first_day() + timedelta(days=day) + BUSY
    end = start + timedelta(hours=1)
    return _ask(api, "/leases", lease("counted", start.strftime(ISO), end.strftime(ISO), *parts))


def _ask(api: Inside, path: str, body: dict[str, Any]) -> int:
    answer = api.ask("POST", path, body)
    if answer.status_code != 201:
        raise AnswerError(f"POST {path}: {answer.status_code}: {answer.text}")
    return len(api.statements)
