"""The demands of a pool's allocations, with each distinct one stored once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from leasehold.calendar.arrays import ALL_OF_IT, MOST_DEMAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Key: TypeAlias = tuple[tuple[str, int], ...]
"""Equal for equal demands."""
EXCLUSIVE: Final = 0
"""The code of an allocation that takes the whole resource."""
ANYTHING: Final = "*"
"""In place of a resource class: every allocation takes one of it, whatever else it takes."""
MOST_CLASSES: Final = 32
"""For how many resource classes the amounts are cached."""


class DemandTable:
    """Codes for the demands of the stored allocations: small integers for {resource class: amount of one slot}."""

    def __init__(self) -> None:
        self._demands: list[Mapping[str, int]] = [{}]
        self._code_of: dict[Key, int] = {}
        self._code_of_text: dict[str | None, int] = {None: EXCLUSIVE}
        self._amounts: dict[str, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self._demands)

    def codes(self, texts: Sequence[str | None]) -> NDArray[np.int32]:
        """Return the codes of demands given as JSON texts; None is the whole resource."""
        known = self._code_of_text
        for text in set(texts) - known.keys():
            known[text] = self.code(None if text is None else json.loads(text))
        return np.fromiter(map(known.__getitem__, texts), np.int32, len(texts))

    def code(self, demand: Mapping[str, int] | None) -> int:
        """Return the code of one demand."""
        if demand is None:
            return EXCLUSIVE
        key = key_of(demand)
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self._demands)
            self._demands.append(demand)
        return code

    def known(self, key: Key) -> int | None:
        """Return the code of a demand that some allocation has or had, None for any other demand."""
        return self._code_of.get(key)

    def amounts(self, resource_class: str) -> NDArray[np.int64]:
        """Return the amount of a class that one slot of each code takes, shape (codes,)."""
        amounts = self._amounts.get(resource_class)
        if amounts is None:
            amounts = np.array([ALL_OF_IT], np.int64)
        if amounts.size < len(self._demands):
            amounts = np.concatenate([amounts, amounts_of(self._demands[amounts.size :], resource_class)])
        self._amounts.pop(resource_class, None)
        self._amounts[resource_class] = amounts
        if len(self._amounts) > MOST_CLASSES:
            del self._amounts[next(iter(self._amounts))]
        return amounts

    def keep(self, used: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """Drop all demands but those with these codes; returns the new code of each old one, 0 for a dropped one."""
        codes = np.zeros(len(self._demands), np.int32)
        kept = np.unique(used[used != EXCLUSIVE])
        codes[kept] = np.arange(1, kept.size + 1)
        self._demands = [{}, *(self._demands[code] for code in kept)]
        self._code_of = {key_of(demand): code for code, demand in enumerate(self._demands) if code}
        self._code_of_text = {None: EXCLUSIVE}
        self._amounts.clear()
        return codes


class DecisionDemands:
    """The demands that one decision uses: those of the table, and those that only its own request has.

    The latter are dropped with the decision, because a client may ask for another size every time.
    """

    def __init__(self, table: DemandTable) -> None:
        """Start with the demands of the table, which must not change meanwhile."""
        self._table = table
        self._demands: list[Mapping[str, int]] = []
        self._code_of: dict[Key, int] = {}

    def code(self, demand: Mapping[str, int] | None) -> int:
        """Return the code of one demand."""
        if demand is None:
            return EXCLUSIVE
        key = key_of(demand)
        code = self._table.known(key)
        if code is None:
            code = self._code_of.setdefault(key, len(self._table) + len(self._demands))
            if code == len(self._table) + len(self._demands):
                self._demands.append(demand)
        return code

    def amounts(self, resource_class: str) -> NDArray[np.int64]:
        """Return the amount of a class that one slot of each code takes, shape (codes,)."""
        amounts = self._table.amounts(resource_class)
        return np.concatenate([amounts, amounts_of(self._demands, resource_class)]) if self._demands else amounts


def key_of(demand: Mapping[str, int]) -> Key:
    """Return a key that is equal for equal demands."""
    return tuple(sorted(demand.items()))


def amounts_of(demands: Sequence[Mapping[str, int]], resource_class: str) -> NDArray[np.int64]:
    """Return the amount of a class that one slot of each demand takes, shape (demands,)."""
    if resource_class == ANYTHING:
        return np.ones(len(demands), np.int64)
    return np.array([min(demand.get(resource_class, 0), MOST_DEMAND) for demand in demands], np.int64)
