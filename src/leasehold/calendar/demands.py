"""The demands of a pool's promises, each different one stored once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from leasehold.calendar.arrays import ALL_OF_IT, MOST_DEMAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Key: TypeAlias = tuple[tuple[str, int], ...]
"""What equal demands share."""
EXCLUSIVE: Final = 0
"""The code of a promise that takes the whole resource."""
MOST_CLASSES: Final = 32
"""Resource classes of which the amounts are kept at hand."""


class DemandTable:
    """Codes for the demands of the stored allocations: small integers for {resource class: amount of one slot}."""

    def __init__(self) -> None:
        """Start with the exclusive demand only."""
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
        """Return the code of a demand that some promise has or had, None for another one."""
        return self._code_of.get(key)

    def amounts(self, resource_class: str) -> NDArray[np.int64]:
        """Return the amount of a class that one slot of each code takes."""
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
        """Forget all demands but those with these codes; returns the new code of each old one, 0 of the forgotten."""
        codes = np.zeros(len(self._demands), np.int32)
        kept = np.unique(used[used != EXCLUSIVE])
        codes[kept] = np.arange(1, kept.size + 1)
        self._demands = [{}, *(self._demands[code] for code in kept)]
        self._code_of = {key_of(demand): code for code, demand in enumerate(self._demands) if code}
        self._code_of_text = {None: EXCLUSIVE}
        self._amounts.clear()
        return codes


class DecisionDemands:
    """The demands that one decision sees: those of the table, and those that only the decision itself asks for.

    What a request asks for is forgotten with the decision: a client may ask for another size every time.
    """

    def __init__(self, table: DemandTable) -> None:
        """Start with what the table has, which may not change meanwhile."""
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
        """Return the amount of a class that one slot of each code takes."""
        amounts = self._table.amounts(resource_class)
        return np.concatenate([amounts, amounts_of(self._demands, resource_class)]) if self._demands else amounts


def key_of(demand: Mapping[str, int]) -> Key:
    """Return what equal demands share."""
    return tuple(sorted(demand.items()))


def amounts_of(demands: Sequence[Mapping[str, int]], resource_class: str) -> NDArray[np.int64]:
    """Return the amount of a class that one slot of each demand takes."""
    return np.array([min(demand.get(resource_class, 0), MOST_DEMAND) for demand in demands], np.int64)
