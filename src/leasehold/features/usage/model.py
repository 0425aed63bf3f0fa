"""Usage: what is late, missing or given up of a promise (decision 0150)."""

from __future__ import annotations

from enum import StrEnum


class Loss(StrEnum):
    """Why a part of a promise was not used by its owner."""

    LATE = "late"
    """It was held, and its start was not done."""
    MISSING = "missing"
    """It was not held: the reservation had fewer resources than it was promised."""
    GIVEN_UP = "given_up"
    """Its owner has ended, shortened, dropped or deleted it before."""
