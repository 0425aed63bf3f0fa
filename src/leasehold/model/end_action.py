"""What a reservation may ask for before its end; `resource_types/end_actions.py` does it."""

from __future__ import annotations

from enum import StrEnum


class EndAction(StrEnum):
    """The actions by the words that requests and `[physical:host] before_end` use (contract lifecycle §2.4)."""

    NOTHING = ""
    SNAPSHOT = "snapshot"
    SHELVE = "shelve"
    """For reservations of hosts only, from microversion 1.2 on."""


DEFAULT = "default"
"""In a request: what the operator has configured. The configuration itself cannot say it, so it is no member."""
