"""What a lease waits for, as the database keeps it: NULL for one that never had to wait."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from leasehold.db.types import read_moment
from leasehold.model.terms.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_waiting(waiting: Waiting | None) -> dict[str, Any] | None:
    """Return the JSON value."""
    if waiting is None:
        return None
    return {
        "since": waiting.since.isoformat(),
        "next_try": waiting.next_try.isoformat(),
        "pause": waiting.pause.total_seconds(),
        "pools": sorted(waiting.pools),
        "retries": waiting.retries,
        "deadline": None if waiting.deadline is None else waiting.deadline.isoformat(),
        "tried": waiting.tried,
        "passed_over": waiting.passed_over,
        "granted": waiting.granted,
        "use_disabled": waiting.use_disabled,
        "sees_private": waiting.sees_private,
        **({"draws": sorted(waiting.draws)} if waiting.draws else {}),
    }


def read_waiting(stored: Mapping[str, Any] | None) -> Waiting | None:
    """Return what `write_waiting` has written."""
    if stored is None:
        return None
    return Waiting(
        since=datetime.fromisoformat(stored["since"]),
        next_try=datetime.fromisoformat(stored["next_try"]),
        pause=timedelta(seconds=stored["pause"]),
        pools=frozenset(stored["pools"]),
        retries=stored["retries"],
        deadline=read_moment(stored, "deadline"),
        tried=stored["tried"],
        passed_over=stored["passed_over"],
        granted=stored["granted"],
        # A lease that an older version has kept does not say these.
        use_disabled=stored.get("use_disabled", False),
        sees_private=stored.get("sees_private", True),
        draws=frozenset(stored.get("draws", ())),
    )
