"""How long a requested lease waits if it cannot be granted at once: what the request says, within the configuration."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.conf.leases import LEAST_PAUSE
from leasehold.model.errors import InvalidDateError, InvalidInputError, MissingParameterError
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.terms.waiting import Waiting
from leasehold.model.windows import LAST_YEAR, moved

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leasehold.conf.settings import LeaseSettings
    from leasehold.model.draft import LeaseDraft


def waiting_terms(
    draft: LeaseDraft, settings: LeaseSettings, now: datetime, pools: Iterable[str], draw_limit: timedelta
) -> Waiting | None:
    """Return how long the lease waits, from now on, for resources of these pools; None for a type that does not wait.

    A best-effort lease without a deadline waits for as long as a draw may take.

    Raises InvalidInputError, InvalidDateError and MissingParameterError with the field's name.
    """
    pause, retries = check_terms(draft, settings)
    if draft.type is LeaseType.WAITLIST and draft.deadline is None:
        name = "deadline"
        raise MissingParameterError(name)
    if draft.type is LeaseType.IMMEDIATE and draft.start > now:
        message = "A lease of the type 'immediate' starts now. Send 'now' as its start, or leave its type out."
        raise InvalidDateError(message, field="start_date")
    best_effort = draft.type is LeaseType.BEST_EFFORT
    if not draft.type.waits and not best_effort:
        return None
    if draft.deadline is not None and draft.deadline <= now:
        message = "The deadline must be later than now."
        raise InvalidDateError(message, field="deadline")
    if draft.deadline is not None and moved(draft.deadline, draft.end - draft.start) is None:
        message = f"A lease that is granted at this deadline would end after {LAST_YEAR}; send an earlier one."
        raise InvalidDateError(message, field="deadline")
    among = frozenset(pools)
    deadline = now + draw_limit if best_effort and draft.deadline is None else draft.deadline
    return Waiting(now, now + pause, pause, among, retries, deadline, use_disabled=draft.use_disabled)


def check_terms(draft: LeaseDraft, settings: LeaseSettings) -> tuple[timedelta, int | None]:
    """Return the pause between tries and how many there are, None for as many as the deadline allows.

    Raises InvalidInputError for what the type does not have, or this service does not allow.
    """
    owners = {
        "retries": (draft.retries, (LeaseType.RETRY,)),
        "retry_seconds": (draft.retry_pause, (LeaseType.RETRY, LeaseType.WAITLIST)),
        "deadline": (draft.deadline, (LeaseType.WAITLIST, LeaseType.BEST_EFFORT)),
        "ready_within_seconds": (draft.ready_within or None, (LeaseType.SCHEDULED,)),
    }
    for name, (value, types) in owners.items():
        if value is not None and draft.type not in types:
            words = " or ".join(map(repr, map(str, types)))
            message = f"{name} belongs to leases of the type {words}. Leave it out, or send this type."
            raise InvalidInputError(message, field=name)
    return _pause(draft, settings), _retries(draft, settings) if draft.type is LeaseType.RETRY else None


def _retries(draft: LeaseDraft, settings: LeaseSettings) -> int:
    if draft.retries is None:
        return settings.retries
    if not 1 <= draft.retries <= settings.retries:
        message = f"retries has to be from 1 to {settings.retries}, which is what this service allows."
        raise InvalidInputError(message, field="retries")
    return draft.retries


def _pause(draft: LeaseDraft, settings: LeaseSettings) -> timedelta:
    if draft.retry_pause is None:
        return settings.retry_pause
    if not timedelta(seconds=LEAST_PAUSE) <= draft.retry_pause <= settings.retry_pause:
        most = int(settings.retry_pause.total_seconds())
        message = f"retry_seconds has to be from {LEAST_PAUSE} to {most}, which is what this service allows."
        raise InvalidInputError(message, field="retry_seconds")
    return draft.retry_pause
