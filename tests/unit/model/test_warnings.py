"""What becomes of the warning before the end: it is no part of the combinations that the audit compares."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from leasehold.model.lease import Event, Lease
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from leasehold.model.transitions import Trigger, move
from leasehold.model.windows import Window

DAY = datetime(2031, 5, 1, tzinfo=UTC)
ACTIVE, TERMINATING = LeaseStatus.ACTIVE, LeaseStatus.TERMINATING


@pytest.mark.parametrize(
    ("status", "trigger", "before", "after"),
    [
        (ACTIVE, Trigger.WARNING_DUE, "UNDONE", "IN_PROGRESS"),
        (ACTIVE, Trigger.WARNING_DUE, "IN_PROGRESS", "IN_PROGRESS"),
        (ACTIVE, Trigger.WARNING_DUE, "ERROR", "ERROR"),
        (ACTIVE, Trigger.WARNED, "IN_PROGRESS", "DONE"),
        (ACTIVE, Trigger.WARNED, "ERROR", "DONE"),
        (ACTIVE, Trigger.WARNING_FAILED, "IN_PROGRESS", "ERROR"),
        (ACTIVE, Trigger.WARNING_MOVED, "DONE", "UNDONE"),
        (ACTIVE, Trigger.WARNING_MOVED, "ERROR", "UNDONE"),
        (ACTIVE, Trigger.END_DUE, "IN_PROGRESS", "IN_PROGRESS"),
        (TERMINATING, Trigger.ENDED, "UNDONE", "UNDONE"),
        (TERMINATING, Trigger.ENDED, "IN_PROGRESS", "DONE"),
        (TERMINATING, Trigger.ENDED, "ERROR", "DONE"),
        (TERMINATING, Trigger.ENDED_INCOMPLETE, "IN_PROGRESS", "ERROR"),
        (TERMINATING, Trigger.ENDED_INCOMPLETE, "DONE", "ERROR"),
        (TERMINATING, Trigger.END_FAILED, "IN_PROGRESS", "IN_PROGRESS"),
    ],
)
def test_what_becomes_of_a_warning(status: LeaseStatus, trigger: Trigger, before: str, after: str) -> None:
    """A warning that was under way, or had failed, counts as done once the end has done its work."""
    kinds = {EventType.START: "DONE", EventType.BEFORE_END: before, EventType.END: "IN_PROGRESS"}
    events = tuple(Event(kind, "l", kind, DAY, EventStatus(word)) for kind, word in kinds.items())
    lease = Lease("l", "n", "u", "p", Window(DAY, DAY + timedelta(hours=1)), status, reservations=(), events=events)
    warning = move(lease, trigger).event(EventType.BEFORE_END)
    assert warning is not None
    assert warning.status == after
