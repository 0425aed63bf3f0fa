"""The demands of a pool's promises, each different one stored once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np

from leasehold.calendar.arrays import ALL_OF_IT, MOST_DEMAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

EXCLUSIVE: Final = 0
"""The code of a promise that takes the whole resource."""


class DemandTable:
    """Codes for demands: small integers that stand for {resource class: amount of one slot}."""

    def __init__(self) -> None:
        """Start with the exclusive demand only."""
        self._demands: list[Mapping[str, int]] = [{}]
        self._code_of: dict[tuple[tuple[str, int], ...], int] = {}
        self._code_of_text: dict[str | None, int] = {None: EXCLUSIVE}
        self._amounts: dict[str, NDArray[np.int64]] = {}

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
        key = tuple(sorted(demand.items()))
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self._demands)
            self._demands.append(demand)
            self._amounts.clear()
        return code

    def amounts(self, resource_class: str) -> NDArray[np.int64]:
        """Return the amount of a class that one slot of each code takes."""
        amounts = self._amounts.get(resource_class)
        if amounts is None:
            amounts = np.array([min(demand.get(resource_class, 0), MOST_DEMAND) for demand in self._demands], np.int64)
            amounts[EXCLUSIVE] = ALL_OF_IT
            self._amounts[resource_class] = amounts
        return amounts
