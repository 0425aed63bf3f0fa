"""How reservations end, as the database keeps it: NULL for those whose servers are deleted at once.

When they release what they do not use is NULL for those that never do.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.db.types import read_moment
from leasehold.model.terms.ending import DELETED_AT_ONCE, LATEST, Ending, Lent, OnEnd
from leasehold.model.terms.no_show import NoShow
from leasehold.model.terms.notice import Notice, seconds_of
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

FOR_GOOD = to_seconds(LATEST)
"""The end of an allocation, in seconds since the epoch, of what may be given back when the lease is over."""


def counted_end(ends_at: int, lease_end: datetime, *, lent: bool) -> int:
    """Return until when an allocation counts, in seconds.

    One for good counts to the end of its lease: then the resource is released, or is given back. So does one that is
    lent: then its lender has it again. What is ended earlier counts to its own end.
    """
    return min(to_seconds(lease_end), int(ends_at)) if lent or ends_at >= FOR_GOOD else int(ends_at)


def write_ending(ending: Ending) -> dict[str, Any] | None:
    """Return the JSON value of an ending."""
    if ending == DELETED_AT_ONCE:
        return None
    grace, limit = (int(each.total_seconds()) for each in (ending.grace, ending.limit))
    value: dict[str, Any] = {
        "on_end": ending.on_end.value,
        "grace": grace,
        "limit": limit,
        "before_end": str(ending.before_end),
    }
    if ending.lent is not None:
        value["lent"] = _write_lent(ending.lent)
    if ending.notice is not None:
        value["notice"] = _write_notice(ending.notice)
    return value


def _write_lent(lent: Lent) -> dict[str, Any]:
    return {"lease": lent.lease_id, "reservation": lent.reservation_id, "until": to_seconds(lent.until)}


def _write_notice(notice: Notice) -> dict[str, Any]:
    since = None if notice.since is None else to_seconds(notice.since)
    return {"length": seconds_of(notice), "since": since}


def _read_notice(value: Mapping[str, Any]) -> Notice:
    since = None if value["since"] is None else from_seconds(value["since"])
    return Notice(timedelta(seconds=value["length"]), since)


def read_ending(value: Mapping[str, Any] | None) -> Ending:
    """Return the ending that `write_ending` wrote."""
    if value is None:
        return DELETED_AT_ONCE
    grace, limit = timedelta(seconds=value["grace"]), timedelta(seconds=value["limit"])
    lent = value.get("lent")
    known = None if lent is None else Lent(lent["lease"], lent["reservation"], from_seconds(lent["until"]))
    notice = _read_notice(value["notice"]) if "notice" in value else None
    return Ending(OnEnd(value["on_end"]), grace, limit, value["before_end"], known, notice)


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
