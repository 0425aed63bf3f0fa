"""How reservations end, as the database keeps it: NULL for those whose servers are deleted at once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.model.ending import DELETED_AT_ONCE, Ending, OnEnd

if TYPE_CHECKING:
    from collections.abc import Mapping


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
