"""When reservations release what they do not use, as the database keeps it: NULL for those that never do."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.db.types import read_moment
from leasehold.model.terms.no_show import NoShow

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_no_show(no_show: NoShow | None) -> dict[str, Any] | None:
    """Return the JSON value; what is as at the beginning has no key."""
    if no_show is None:
        return None
    value: dict[str, Any] = {"after": int(no_show.after.total_seconds())}
    moments = {"since": no_show.since, "warned_at": no_show.warned_at}
    value |= {name: moment.isoformat() for name, moment in moments.items() if moment is not None}
    if no_show.used:
        value["used"] = sorted(no_show.used)
    return {**value, "done": True} if no_show.done else value


def read_no_show(value: Mapping[str, Any] | None) -> NoShow | None:
    """Return what `write_no_show` wrote."""
    if value is None:
        return None
    after, used = timedelta(seconds=value["after"]), frozenset(value.get("used", ()))
    return NoShow(after, read_moment(value, "since"), read_moment(value, "warned_at"), used, value.get("done", False))
