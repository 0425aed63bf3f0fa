"""The invariants of hosts that change their pool, or are held for a lease, checked by brute force on plain rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.harness.said import said_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.tables import Row, Tables

POOLED = (None, "reservation")
"""Where a host that is in the reservation pool is; an older process leaves it open."""


def pool_problems(tables: Tables) -> list[str]:
    """Return a sentence for each broken invariant; it may be asked at any moment."""
    return [found for check in (_check_under_way, _check_held, _check_promised) for found in said_by(check, tables)]


def _present(tables: Tables) -> Iterator[Row]:
    return (row for row in tables["resources"] if row.deleted_at is None)


def _check_under_way(tables: Tables) -> None:
    """A resource between the pools has a task that brings it to its end."""
    due = {row.subject for row in tables["tasks"] if row.due_at is not None or row.claimed_by is not None}
    moving = [row for row in _present(tables) if row.membership in ("drawing", "giving_back")]
    stuck = [row for row in moving if row.id not in due]
    assert not stuck, f"resources are between the pools, and nobody works on them: {stuck}"


def _check_held(tables: Tables) -> None:
    """What is held is held for a lease that waits for draws."""
    waiting = {row.id: row for row in tables.leases() if row.status == "IN_PROGRESS"}
    drawn = {lease_id: set(row.waiting.get("draws") or ()) for lease_id, row in waiting.items()}
    for row in tables["resources"]:
        if row.held_for is not None:
            assert drawn.get(row.held_for), f"resource {row.number} is held for a lease that does not wait: {row}"
            assert row.deleted_at is None, f"resource {row.number} is held for a lease, and is gone: {row}"


def _check_promised(tables: Tables) -> None:
    """Nothing is promised on a resource that is not in the reservation pool."""
    outside = {row.number for row in _present(tables) if row.membership not in POOLED}
    lost = [row for row in tables.allocated() if row.resource_number in outside and row.released_at is None]
    assert not lost, f"resources that are not in the reservation pool are promised: {lost}"
