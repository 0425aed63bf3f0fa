"""How reservations end, as the database keeps it: NULL for those whose servers are deleted at once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.model.ending import DELETED_AT_ONCE, LATEST, Ending, OnEnd
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping


FOR_GOOD = to_seconds(LATEST)
"""The end of an allocation, in seconds since the epoch, of what may be given back when the lease is over."""


def counted_end(row: Any) -> int:
    """Return until when an allocation counts, in seconds; the row has its `ends_at`, and the `end_at` of its lease.

    One for good counts to the end of its lease: then the resource is released, or is given back.
    """
    return int(row.ends_at) if row.ends_at < FOR_GOOD else to_seconds(row.end_at)


def write_ending(ending: Ending) -> dict[str, Any] | None:
    """Return the JSON value of an ending."""
    if ending == DELETED_AT_ONCE:
        return None
    grace, limit = (int(each.total_seconds()) for each in (ending.grace, ending.limit))
    return {"on_end": ending.on_end.value, "grace": grace, "limit": limit, "before_end": str(ending.before_end)}


def read_ending(value: Mapping[str, Any] | None) -> Ending:
    """Return the ending that `write_ending` wrote."""
    if value is None:
        return DELETED_AT_ONCE
    grace, limit = timedelta(seconds=value["grace"]), timedelta(seconds=value["limit"])
    return Ending(OnEnd(value["on_end"]), grace, limit, value["before_end"])
