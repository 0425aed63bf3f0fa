"""The record of usage: what was promised and not delivered or given up, and what was used (decision 0150).

It stands beside the segments, which say what was held, and outlives its leases as they do. All moments are whole
seconds since the epoch, and all spans are half-open. No foreign keys: a row may outlive what it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Column, Index, String, case, literal, select, union_all

from leasehold.db.tables import RECORD, table
from leasehold.db.types import COUNTED, BigKey
from leasehold.features.usage.model import Loss

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, CompoundSelect


def _owner() -> tuple[Column[Any], ...]:
    """Return the columns that say whose a row is, as `segments` has them."""
    return (
        Column("lease_id", String(36), nullable=False),
        Column("reservation_id", String(36), nullable=False),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("resource_type", String(66), nullable=False),
    )


# What the follower last knew of each reservation. `amount` is what was promised, in the unit of the request, and
# `missing` how much of it is; `delivered_at` is NULL until its start is done, `over_at` until it ends, and then
# `ends_at` is no later. What is late or missing since `told_at` is not in `usage_losses` yet (`losses_until`).
usage_terms = table(
    "usage_terms",
    Column("reservation_id", String(36), primary_key=True),
    Column("lease_id", String(36), nullable=False, index=True),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("resource_type", String(66), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("missing", BigInteger, nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False),
    Column("delivered_at", BigInteger),
    Column("told_at", BigInteger, nullable=False),
    Column("over_at", BigInteger),
    Column("lender_project_id", String(255), index=True),
    Index(None, "over_at", "project_id"),
    info={RECORD: "over_at"},
)

# Closed spans, which never change: `state` is one of `Loss`. One that is given up may lie ahead.
usage_losses = table(
    "usage_losses",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    *_owner(),
    Column("state", String(16), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False, index=True),
    Index(None, "project_id", "ends_at"),
    info={RECORD: "ends_at"},
    **COUNTED,
)

# Spans in which each poll has found at least `amount` in use, from the first of them to the last. One of a single poll
# is empty: something ran, and nobody knows how long. `seen_at` is the last poll, and NULL once the span cannot go on.
usage_uses = table(
    "usage_uses",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    *_owner(),
    Column("resource_number", BigInteger, nullable=False),
    Column("resource", String(255), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False, index=True),
    Column("seen_at", BigInteger, index=True),
    Index(None, "project_id", "ends_at"),
    info={RECORD: "ends_at"},
    **COUNTED,
)

# How far the record has come, by what makes it: `EVENTS` with the position in the event log, and a row for each
# resource type that is polled with the moment of the last poll. It is complete from the moment `since` on.
usage_cursor = table(
    "usage_cursor",
    Column("name", String(80), primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
)

EVENTS = "events"
"""The name of the follower's cursor."""


def poll_of(resource_type: str) -> str:
    """Return the name of the cursor of a resource type's polls."""
    return f"poll:{resource_type}"


_OPEN = usage_terms.c
_OWNER = ("lease_id", "reservation_id", "project_id", "user_id", "resource_type")
_SPAN = (*_OWNER, "state", "amount", "starts_at", "ends_at")


def losses_until(now: int) -> CompoundSelect[Any]:
    """Select all losses up to a moment: the closed ones, and what has been late or missing since then.

    The columns are those of `usage_losses` without `id`. A closed one that is given up may reach beyond the moment.
    """
    begin = case((_OPEN.told_at > _OPEN.starts_at, _OPEN.told_at), else_=_OPEN.starts_at)
    end = case((_OPEN.ends_at < now, _OPEN.ends_at), else_=now)

    def since(state: Loss, amount: ColumnElement[int], *which: ColumnElement[bool]) -> Any:
        columns = (
            *(_OPEN[name] for name in _OWNER),
            *(literal(state.value).label("state"), amount.label("amount")),
            *(begin.label("starts_at"), end.label("ends_at")),
        )
        return select(*columns).where(_OPEN.over_at.is_(None), begin < end, amount > 0, *which)

    return union_all(
        select(*(usage_losses.c[name] for name in _SPAN)),
        since(Loss.LATE, _OPEN.amount - _OPEN.missing, _OPEN.delivered_at.is_(None)),
        since(Loss.MISSING, _OPEN.missing),
    )
