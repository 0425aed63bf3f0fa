"""Segments in the database: the past of allocations, closed in the transaction that changes them (features G8, L9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import case, insert, literal, select, update

from leasehold.db.tables import allocations, leases, reservations, resources, segments
from leasehold.model.segment import Cause, unrecorded
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

    from leasehold.model.allocation import Allocation

BEGIN = case(
    (allocations.c.recorded_until > allocations.c.starts_at, allocations.c.recorded_until),
    else_=allocations.c.starts_at,
)
"""When the part of an allocation begins that is in no segment yet, in seconds."""
SOURCE = allocations.join(leases, leases.c.id == allocations.c.lease_id)
SOURCE = SOURCE.join(reservations, reservations.c.id == allocations.c.reservation_id)
SOURCE = SOURCE.join(resources, resources.c.number == allocations.c.resource_number)
"""Allocations with all that a segment says about them."""
OF_OTHERS = (
    leases.c.project_id,
    leases.c.user_id,
    leases.c.purpose,
    reservations.c.resource_type,
    resources.c.reference.label("resource"),
)
CONTENT = (
    *OF_OTHERS,
    allocations.c.lease_id,
    allocations.c.reservation_id,
    allocations.c.resource_number,
    allocations.c.slots,
    allocations.c.demand,
    allocations.c.start_cause,
)
"""The columns of a segment that it has from `SOURCE`, under the names that they have in `segments`; `OF_OTHERS` are
those that are not of the allocation itself."""


def close_segments(connection: Connection, held: Collection[Allocation], now: datetime, cause: Cause) -> int:
    """Write what these allocations held up to now as segments that end for this cause; return the moment, in seconds.

    The caller writes the moment to `recorded_until` of the allocations that it ends or changes. It is `now`, but not
    before the end of what is recorded already: the clocks of two processes may differ by a moment. A segment that
    reached the end of its allocation has the cause ENDED. Takes one statement, and none if nothing was held.
    """
    known = (to_seconds(each.recorded_until) for each in held if each.recorded_until is not None)
    moment = max([to_seconds(now), *known])
    past = [each.id for each in held if each.left_at is None and unrecorded(each, from_seconds(moment)) is not None]
    if past:
        _write(connection, allocations.c.id.in_(past), moment, now, cause)
    return moment


def close_released(connection: Connection, now: datetime) -> None:
    """Write the segments of all allocations that are released and not recorded, as after an import."""
    over = allocations.c.released_at.is_not(None) & allocations.c.recorded_until.is_(None)
    _write(connection, over, to_seconds(now), now, Cause.ENDED)
    connection.execute(update(allocations).where(over).values(recorded_until=to_seconds(now)))


def _write(connection: Connection, which: ColumnElement[bool], moment: int, now: datetime, cause: Cause) -> None:
    over = allocations.c.ends_at <= moment
    end = case((over, allocations.c.ends_at), else_=moment)
    added = {
        "starts_at": BEGIN,
        "ends_at": end,
        "end_cause": case((over, Cause.ENDED.value), else_=cause.value),
        "written_at": literal(now, segments.c.written_at.type),
    }
    names = [column.name for column in CONTENT] + list(added)
    rows = select(*CONTENT, *added.values()).select_from(SOURCE)
    rows = rows.where(which, allocations.c.left_at.is_(None), end > BEGIN)
    connection.execute(insert(segments).from_select(names, rows))
