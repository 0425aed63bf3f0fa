"""The cleaning margin: for how long resources are free before and after each lease (feature C10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Margins:
    """The cleaning time of the resources of each pool; `default` is that of the pools that have none of their own.

    All types that use a pool have the same: what one of them leaves, another one gets.
    """

    default: timedelta = timedelta(0)
    by_pool: Mapping[str, timedelta] = field(default_factory=dict)

    def of(self, pool: str) -> timedelta:
        """Return the cleaning time of a pool."""
        return self.by_pool.get(pool, self.default)
