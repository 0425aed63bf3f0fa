"""What healing may do for a lease when a resource of it fails (feature J5)."""

from __future__ import annotations

from enum import StrEnum


class HealPolicy(StrEnum):
    """The policies by the words that requests and `[manager] heal_policy` use.

    A policy only says whether another resource is chosen. A resource that works again always goes back to the
    reservation that misses it, and no policy deletes a server.
    """

    REPLACE = "replace"
    """Another resource takes the place of a failed one."""
    BEFORE_START = "replace-before-start"
    """Only until the start begins; then the reservation keeps what failed and is flagged."""
    ASK = "ask"
    """The reservation keeps what failed and is flagged, and the event asks its owner, who answers with a request."""
    NEVER = "never"
    """The reservation keeps what failed and is flagged."""

    def replaces(self, *, started: bool) -> bool:
        """Say whether a reservation, whose start has begun or not, gets another resource for a failed one."""
        return self is HealPolicy.REPLACE or (self is HealPolicy.BEFORE_START and not started)


DEFAULT = "default"
"""In a request: what the operator has configured. The configuration itself cannot say it, so it is no member."""


def chosen(word: str | None) -> HealPolicy | None:
    """Return the policy that a request chose; None if it left the choice to the operator."""
    return None if word in (None, DEFAULT) else HealPolicy(word)
