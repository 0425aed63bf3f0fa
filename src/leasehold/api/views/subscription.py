"""Subscriptions and their dead letters, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_iso

if TYPE_CHECKING:
    from leasehold.api.models.subscription import DeadLetterAnswer, SubscriptionAnswer
    from leasehold.model.subscription import DeadLetter, Subscription


def show_subscription(found: Subscription) -> SubscriptionAnswer:
    """Return a subscription without its secret; times are in ISO 8601 with the zone."""
    return {
        "id": found.id,
        "project_id": found.project_id,
        "user_id": found.user_id,
        "channel": found.channel.value,
        "target": found.target,
        "event_types": list(found.event_types),
        "lease_id": found.lease_id,
        "all_projects": found.all_projects,
        "own": found.own,
        "status": found.status.value,
        "position": found.position,
        "failures": found.failures,
        "failing_since": to_iso(found.failing_since),
        "next_try": to_iso(found.due_at),
        "last_error": found.last_error,
        "created_at": found.created_at.isoformat(),
    }


def show_new(made: Subscription) -> SubscriptionAnswer:
    """Return a subscription that was made just now, with its secret if its channel has one."""
    shown = show_subscription(made)
    return {**shown, "secret": made.secret} if made.secret else shown


def show_dead_letter(letter: DeadLetter) -> DeadLetterAnswer:
    """Return an event that the receiver refused."""
    return {
        "id": letter.event_id,
        "position": letter.position,
        "type": letter.event_type,
        "lease_id": letter.lease_id,
        "died_at": letter.died_at.isoformat(),
        "error": letter.error,
    }
