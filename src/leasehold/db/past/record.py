"""The record of what was held: closed segments, and what allocations hold beyond them (features G8, L9).

Whatever an allocation holds after its `recorded_until` counts, so nothing is lost that a process older than the record
wrote. `leasehold-manage purge` closes the rest of an allocation before it removes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, or_, select, true

from leasehold.db.allocation import as_allocation, read_demand, write_demand
from leasehold.db.segment import BEGIN, OF_OTHERS, SOURCE
from leasehold.db.tables import allocations, leases, resources, segments
from leasehold.model.segment import Cause, Segment, unrecorded
from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import datetime

    from sqlalchemy import Column, ColumnElement, Connection, Row

CHUNK = 2_000
_REST = (
    select(allocations, *OF_OTHERS)
    .select_from(SOURCE)
    .where(allocations.c.ends_at > BEGIN)
    .order_by(BEGIN, allocations.c.id)
)
_SAME = (
    *("lease_id", "reservation_id", "project_id", "user_id", "resource_type", "resource_number", "resource", "slots"),
    *("start_cause", "purpose"),
)
"""The columns of a segment that are its fields."""
_OF_SEGMENTS = dict(segments.c.items())
_OF_ALLOCATIONS = {
    "lease_id": allocations.c.lease_id,
    "project_id": leases.c.project_id,
    "resource": resources.c.reference,
}


@dataclass(frozen=True, slots=True)
class SegmentFilter:
    """Which segments: of a lease, of a project, of a resource; those that meet `[since, until)`. None means any.

    `resource` is a resource's reference or its label, which is the last part of the reference.
    """

    lease_id: str | None = None
    project_id: str | None = None
    resource: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def condition(self, columns: Mapping[str, Column[Any]], start: Any, end: Any) -> ColumnElement[bool]:
        """Return the condition on rows with these columns of a segment, and its start and end in seconds."""
        found: ColumnElement[bool] = true()
        if self.lease_id is not None:
            found &= columns["lease_id"] == self.lease_id
        if self.project_id is not None:
            found &= columns["project_id"] == self.project_id
        if self.resource is not None:
            name = columns["resource"]
            found &= or_(name == self.resource, name.endswith(f"/{self.resource}", autoescape=True))
        if self.since is not None:
            found &= end > to_seconds(self.since)
        if self.until is not None:
            found &= start < to_seconds(self.until)
        return found


def each_segment(connection: Connection, question: SegmentFilter, now: datetime) -> Iterator[Segment]:
    """Yield the segments that a question asks for: the closed ones, oldest first, then those that are not closed yet.

    Rows are read as the caller takes them. The transaction has to see one snapshot, in which every moment of an
    allocation is in exactly one segment.
    """
    closed = question.condition(_OF_SEGMENTS, segments.c.starts_at, segments.c.ends_at)
    ordered = (segments.c.starts_at, segments.c.resource_number, segments.c.id)
    query = select(segments).where(closed).order_by(*ordered)
    # Set the option on this statement only: on the connection, each later statement would get a server-side cursor.
    for row in connection.execute(query, execution_options={"yield_per": CHUNK}):
        yield _closed(row)
    rest = question.condition(_OF_ALLOCATIONS, BEGIN, allocations.c.ends_at)
    query = _REST.where(rest, to_seconds(now) > BEGIN)
    for row in connection.execute(query, execution_options={"yield_per": CHUNK}):
        segment = _rest(row, now)
        if segment is not None and (question.since is None or segment.window.end > question.since):
            yield segment


def keep_segments(connection: Connection, lease_ids: Collection[str], now: datetime) -> None:
    """Write what the allocations of these leases hold beyond their segments as segments: they are about to be removed.

    The leases are over. Takes one statement, and a second one if there is anything to write.
    """
    found = connection.execute(_REST.where(allocations.c.lease_id.in_(lease_ids)))
    rows = [_as_row(segment, now) for segment in (_rest(row, now) for row in found) if segment is not None]
    if rows:
        connection.execute(insert(segments), rows)


def _closed(row: Row[Any]) -> Segment:
    window = Window.of_seconds(row.starts_at, row.ends_at)
    return _segment(row, window, row.end_cause, going_on=False)


def _rest(row: Row[Any], now: datetime) -> Segment | None:
    """Return what an allocation holds beyond its segments; the cause of its end is unknown if older code ended it."""
    held = as_allocation(row)
    window = unrecorded(held, now)
    if window is None:
        return None
    going_on = held.left_at is None and to_seconds(held.window.end) > to_seconds(now)
    cause = None
    if held.left_at is not None:
        cause = Cause.HEALED
    elif held.released_at is None and not going_on:
        cause = Cause.ENDED
    return _segment(row, window, cause, going_on=going_on)


def _segment(row: Row[Any], window: Window, end_cause: str | None, *, going_on: bool) -> Segment:
    same = {name: getattr(row, name) for name in _SAME}
    return Segment(**same, demand=read_demand(row.demand), window=window, end_cause=end_cause, open=going_on)


def _as_row(segment: Segment, now: datetime) -> dict[str, Any]:
    start, end = segment.window.seconds
    return {
        **{name: getattr(segment, name) for name in _SAME},
        "demand": write_demand(segment.demand),
        "starts_at": start,
        "ends_at": end,
        "end_cause": segment.end_cause,
        "written_at": now,
    }
