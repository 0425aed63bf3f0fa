"""Sending charges to the cloud's rating service: each period that is closed once, in order (decision 0157)."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from leasehold.cloud.ports import RatedRow
from leasehold.features.price.budget import from_micro
from leasehold.features.price.charge import Kind
from leasehold.features.price.charge_store import (
    CLOSED,
    booked_between,
    charge_of,
    charged_until,
    each_charge,
    save_charged,
)
from leasehold.features.price.model import HOUR
from leasehold.features.price.store import charges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from threading import Event

    from sqlalchemy import Row

    from leasehold.cloud.ports import Rating
    from leasehold.leasing.service import Service

SENT: Final = "sent"
CHUNK: Final = 500
"""Rows in one call."""
WHAT: Final = "reservation"
"""The name of what is rated."""
NOTES: Final = ("lease_id", "reservation_id", "user_id", "resource_type", "kind", "list_name")
_SPACE: Final = UUID("6f4a3f0e-5d0c-4f2e-9a51-3c1f0a1d7b57")


def send(service: Service, rating: Rating, stopping: Event | None = None) -> int:
    """Send the charges of all periods that are closed and not sent; return until when charges are sent.

    Of a period that was sent in part, or whose answer was lost, the rest is sent. Raises CloudError; then it is tried
    again.
    """
    while True:
        with service.db.reading() as connection:
            sent, closed = (charged_until(connection, name) for name in (SENT, CLOSED))
            batches = booked_between(connection, sent, closed)
            # The first alone: each is noted before the next one.
            found = list(each_charge(connection, [charges.c.booked_at == batches[0]], None)) if batches else []
        until = batches[0] if batches else closed
        if until <= sent or (stopping is not None and stopping.is_set()):
            return sent
        rows = list(_rated(found))
        for some in (rows[first : first + CHUNK] for first in range(0, len(rows), CHUNK)):
            known = rating.keys(some)
            missing = [each for each in some if each.key not in known]
            if missing:
                rating.push(missing)
        service.db.transact(lambda connection: save_charged(connection, SENT, sent, until))  # noqa: B023 - run at once


def _rated(found: Sequence[Row[Any]]) -> Iterator[RatedRow]:
    """Yield the rows of a period; they have the same keys whenever they are made, also after the database went back."""
    seen = Counter[str]()
    for row in found:
        charge = charge_of(row)
        start, end = charge.window.seconds
        what = f"{row.reservation_id} {row.kind} {start} {end} {row.units} {row.price} {row.list_name}"
        seen[what] += 1
        once = charge.kind is Kind.FLAT
        yield RatedRow(
            batch=str(row.booked_at),
            key=str(uuid5(_SPACE, f"{what} {seen[what]}")),
            project_id=row.project_id,
            what=WHAT,
            unit="reservation" if once else "hour",
            quantity=Decimal(1) if once else Decimal(row.units * (end - start)) / HOUR,
            price=from_micro(row.amount),
            start=charge.window.start,
            end=charge.window.end,
            notes={name: getattr(row, name) for name in NOTES},
        )
