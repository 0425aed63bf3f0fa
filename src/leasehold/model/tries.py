"""What a try makes of a lease that waits: it is granted, waits on, or gives up. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.terms.waiting import window_at
from leasehold.model.transitions import Trigger, move

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.model.lease import Lease
    from leasehold.model.terms.waiting import Waiting
    from leasehold.model.windows import Window


def moved_to(lease: Lease, window: Window) -> Lease:
    """Return the lease with another window; its events keep their distance to the start and to the end."""
    times: dict[str, datetime | None] = {EventType.START: window.start - lease.lead, EventType.END: window.end}
    warning, end = lease.event(EventType.BEFORE_END), lease.window.end
    if warning is not None and warning.time is not None:
        times[EventType.BEFORE_END] = max(window.start, window.end - (end - warning.time))
    return replace(lease.with_times(times), window=window)


def as_of(lease: Lease, now: datetime) -> Lease:
    """Return a lease that waits with the window that it would get now; any other lease as it is."""
    return moved_to(lease, window_at(lease.window, now)) if lease.waits else lease


def granted(lease: Lease, waiting: Waiting) -> Lease:
    """Return a waiting lease, which has its window already, as one that was granted."""
    return replace(move(lease, Trigger.GRANTED), waiting=replace(waiting, granted=True), status_reason=None)


def refused(lease: Lease, waiting: Waiting, now: datetime, reason: str, *, passed_over: bool = False) -> Lease:
    """Return a waiting lease after a try that was refused: it waits on, or this was the last try."""
    after = waiting.after_try(now, passed_over=passed_over)
    if after.retries is not None and after.tried >= after.retries:
        times = "once" if after.tried == 1 else f"{after.tried} times"
        given_up = move(replace(lease, waiting=after), Trigger.GAVE_UP)
        return replace(given_up, status_reason=f"Tried again {times} and not granted. {reason}")
    return replace(lease, waiting=after, status_reason=reason)


def timed_out(lease: Lease) -> Lease:
    """Return a waiting lease whose deadline has come."""
    reason = f"Not granted before its deadline. {lease.status_reason or ''}".strip()
    return replace(move(lease, Trigger.TIMED_OUT), status_reason=reason)


def drawing(hosts: int) -> str:
    """Return why a best-effort lease waits for which so many hosts are drawn."""
    return f"Shared hosts are drawn for it: {hosts}."


def called_off(lease: Lease, reason: str) -> Lease:
    """Return a waiting best-effort lease whose hosts could not be drawn, or were not enough; `reason` is a sentence."""
    return replace(move(lease, Trigger.TIMED_OUT), status_reason=f"Not granted. {reason}")


def ended_waiting(lease: Lease) -> bool:
    """Say whether a lease has waited and was never granted."""
    return lease.waiting is not None and not lease.waiting.granted and lease.status is not LeaseStatus.IN_PROGRESS
