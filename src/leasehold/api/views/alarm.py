"""Capacity alarms, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.api.dates import to_iso

if TYPE_CHECKING:
    from leasehold.api.models.alarm import AlarmAnswer, WatchedAnswer
    from leasehold.model.alarm import Alarm

UNCHECKED = "It was not checked yet."


def show_alarm(found: Alarm) -> AlarmAnswer:
    """Return an alarm; times are in ISO 8601 with the zone."""
    return {
        "id": found.id,
        "name": found.name,
        "project_id": found.project_id,
        "user_id": found.user_id,
        "reservation": cast("WatchedAnswer", dict(found.reservation)),
        "below": found.below,
        "duration": found.duration,
        "state": found.state.value,
        "available": found.available,
        "reason": UNCHECKED if found.checked_at is None else found.reason,
        "created_at": found.created_at.isoformat(),
        "changed_at": to_iso(found.changed_at),
        "checked_at": to_iso(found.checked_at),
    }
