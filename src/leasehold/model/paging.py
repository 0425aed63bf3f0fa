"""In which order a list shows what it has (feature L2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sort:
    """By a key of its items, the least first or the greatest."""

    key: str
    descending: bool = False


OLDEST_FIRST = Sort("created_at")
LEASE_SORTS = ("created_at", "start_date", "end_date", "name", "status")
"""The keys by which leases are sorted; equal ones by id."""
