"""The record of usage as others count with it (`leasing.record`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import literal, select

from leasehold.features.usage.follow import first_unread
from leasehold.features.usage.model import Loss
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.poll import FARTHEST
from leasehold.features.usage.store import losses_until, usage_uses
from leasehold.leasing.record import Became, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Connection, Row

    from leasehold.conf.settings import Settings
    from leasehold.leasing.record import Record

UNDER_WAY: Final = 600
"""Seconds after which a transaction is over that has the time of its beginning: events may be committed so late."""
BECAME: Final = (Loss.LATE.value, Loss.MISSING.value)


def make_record(settings: Settings) -> Record | None:
    """Return the record; None where nobody follows the event log."""
    own = settings.of(UsageSettings)
    return UsageRecord(max(UNDER_WAY, int(FARTHEST * own.poll_seconds) + 1)) if own.follow_seconds else None


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What was late, missing and used. What is `younger` than so many seconds may still change."""

    younger: int

    def settled(self, connection: Connection, now: int) -> int:
        """Return the time of the first event that is not accounted for, or the present, less what may still change."""
        unread = first_unread(connection)
        return (now if unread is None else min(unread, now)) - self.younger

    def spans(self, connection: Connection, lease_ids: Collection[str], start: int, end: int) -> Iterator[Span]:
        """Yield what was late and missing, and what was used of each resource."""
        found: list[Row[Any]] = []
        for each in losses_until(end).selects:
            lost = each.subquery().c
            spans = select(lost.reservation_id, lost.state, lost.amount, lost.starts_at, lost.ends_at)
            of_these = (lost.lease_id.in_(lease_ids), lost.state.in_(BECAME))
            found += connection.execute(spans.where(*of_these, lost.starts_at < end, lost.ends_at > start))
        uses = usage_uses.c
        spans = select(uses.reservation_id, literal(Became.USED.value).label("state"), *_SPAN)
        found += connection.execute(
            spans.where(uses.lease_id.in_(lease_ids), uses.starts_at < end, uses.ends_at > start)
        )
        for row in found:
            window = max(row.starts_at, start), min(row.ends_at, end)
            yield Span(row.reservation_id, Became(row.state), row.amount, *window)


_SPAN: Final = (usage_uses.c.amount, usage_uses.c.starts_at, usage_uses.c.ends_at)
