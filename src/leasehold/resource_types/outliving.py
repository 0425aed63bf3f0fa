"""Servers that outlive their lease: none is deleted and none can be added until `job.kept_until` (features E2, E4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.resource_types.driver import LearnedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.resource_types.driver import Convergence

CLOSED = "closed"
"""The owner of a reservation's aggregate to which no server can be added any more: no project has this id."""


def closed(job: Convergence[Any]) -> dict[str, str | None]:
    """Return the metadata of an aggregate to which no project can add a server any more."""
    return {job.settings.owner_key: CLOSED, **dict.fromkeys(job.reservation.shares)}


LIVING = "live on after the end of the lease"
"""What the reason of a lease says, among others, whose own servers are all that it waits for."""


def say_living(job: Convergence[Any], servers: int, facts: Mapping[str, Any]) -> None:
    """Raise LearnedError with how many servers live on and until when, and these facts, if there are any."""
    if servers and job.kept_until is not None:
        message = f"{servers} servers {LIVING}, until {job.kept_until:%Y-%m-%d %H:%M} UTC at most"
        raise LearnedError(message, facts)
