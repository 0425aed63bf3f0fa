"""Which part of a list is shown, and in which order (feature L2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


@dataclass(frozen=True, slots=True)
class Sort:
    """By a key of its items, the least first or the greatest."""

    key: str
    descending: bool = False


OLDEST_FIRST = Sort("created_at")
LEASE_SORTS = ("created_at", "start_date", "end_date", "name", "status")
"""The keys by which leases are sorted; equal ones by id."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Up to `limit` items after `marker`, of those that show one of the `wanted` values of each key; None: all.

    The marker is the id of an item, which need not be wanted. `sort` None is the list's own order.
    """

    limit: int | None = None
    marker: str | None = None
    sort: Sort | None = None
    wanted: Mapping[str, Collection[str | bool]] = field(default_factory=dict)


WHOLE = PageRequest()


def unknown_marker() -> InvalidInputError:
    """Return the refusal of a marker that is not in the list."""
    message = "marker is not in this list, or not any more. Send the id of the last item of the page before, "
    return InvalidInputError(message + "or no marker to begin again.", field="marker")
