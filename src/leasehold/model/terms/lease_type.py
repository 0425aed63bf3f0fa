"""The ways to get a lease: what happens to a request that cannot be granted at once (features A2 to A5, A17)."""

from __future__ import annotations

from enum import StrEnum


class LeaseType(StrEnum):
    """The types of leases by the words that requests use; docs/guides/ways-to-get-a-lease.md is about them."""

    SCHEDULED = "scheduled"
    """Granted for its window, which may lie ahead, or refused."""
    IMMEDIATE = "immediate"
    """Granted for a window that begins now, or refused."""
    RETRY = "retry"
    """Kept if it cannot be granted, and tried again a number of times."""
    WAITLIST = "waitlist"
    """Kept if it cannot be granted, and tried again until a deadline."""
    BEST_EFFORT = "best_effort"
    """Kept if it could be granted with shared hosts, which are drawn for it until a deadline."""

    @property
    def waits(self) -> bool:
        """Whether any request of this type is kept where it cannot be granted at once."""
        return self in (LeaseType.RETRY, LeaseType.WAITLIST)
