"""The invariants of the record of what was held, checked by brute force on plain rows."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.harness.said import said_by
from tests.harness.tables import Row, Tables, seconds

if TYPE_CHECKING:
    from datetime import datetime


def record_problems(tables: Tables, now: datetime) -> list[str]:
    """Return a sentence for each broken invariant of the segments."""
    checks = (_check_life, _check_held_once, _check_complete)
    return [found for check in checks for found in said_by(check, tables, seconds(now))]


def _check_life(tables: Tables, now: int) -> None:
    """Every segment lies in the past, and ends no later than its lease was deleted."""
    gone = {row.id: seconds(row.deleted_at) for row in tables["leases"] if row.deleted_at}
    late = [row for row in tables["segments"] if not row.starts_at < row.ends_at <= gone.get(row.lease_id, now)]
    assert not late, f"segments are empty, or last longer than their lease: {late}"


def check_begun_after_creation(tables: Tables) -> None:
    """No segment begins before its lease was created."""
    made = {row.id: seconds(row.created_at) for row in tables["leases"]}
    early = [row for row in tables["segments"] if row.starts_at < made.get(row.lease_id, row.starts_at)]
    assert not early, f"segments begin before their lease was created: {early}"


def _check_held_once(tables: Tables, now: int) -> None:
    """No resource was held as a whole and otherwise at the same time, but beside a maintenance window."""
    beside = {row.id for row in tables["reservations"] if row.resource_type == "maintenance:host"}
    by_resource: dict[int, list[tuple[int, int, Row]]] = defaultdict(list)
    for row in tables["segments"]:
        by_resource[row.resource_number].append((row.starts_at, row.ends_at, row))
    for row in tables.allocated():
        start, end = _rest(row, now)
        if start < end:
            by_resource[row.resource_number].append((start, end, row))
    for number, all_held in by_resource.items():
        held = [each for each in all_held if each[2].reservation_id not in beside]
        there: list[tuple[int, int, Row]] = []
        for each in sorted(held, key=lambda item: item[:2]):
            there = [other for other in there if other[1] > each[0]] + [each]
            twice = len(there) > 1 and any(row.demand is None for _start, _end, row in there)
            assert not twice, f"resource {number} was held twice: {there}"


def _check_complete(tables: Tables, now: int) -> None:
    """What an allocation has held is in segments up to where its rest begins, without a hole."""
    recorded: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in sorted(tables["segments"], key=lambda segment: segment.starts_at):
        recorded[row.reservation_id, row.resource_number].append(row)
    for row in tables.allocated():
        end = min(_held_until(row, now), row.recorded_until or row.starts_at)
        reached = row.starts_at
        for segment in recorded[row.reservation_id, row.resource_number]:
            if segment.starts_at <= reached:
                reached = max(reached, segment.ends_at)
        assert reached >= end, f"what was held from {reached} to {end} is in no segment: {row}"
        released = row.released_at is not None and row.left_at is None
        assert not released or (row.recorded_until or 0) >= row.ends_at, f"a released allocation is not closed: {row}"


def _held_until(row: Row, now: int) -> int:
    left = now if row.left_at is None else seconds(row.left_at)
    return int(min(row.ends_at, now, left))


def _rest(row: Row, now: int) -> tuple[int, int]:
    """Return what an allocation holds beyond its segments."""
    return max(row.starts_at, row.recorded_until or 0), _held_until(row, now)
