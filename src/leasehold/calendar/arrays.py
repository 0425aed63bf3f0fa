"""The array types of the calendar, and the limits that keep its int64 arithmetic from overflowing."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]
"""One boolean per row of the pool's resources."""
Counts: TypeAlias = NDArray[np.int64]
"""One count per row of the pool's resources."""
Rows: TypeAlias = NDArray[np.intp]
"""Indices: of resource rows, which are in the order of the resource numbers, or of allocations in their columns."""
Seconds: TypeAlias = NDArray[np.int64]
"""Moments in whole seconds since the epoch."""

MOST_SLOTS: Final = 2**31 - 1
"""The cap of a count of slots: the largest amount that a request may name (contract resources §3)."""
MOST_DEMAND: Final = 2**31 - 1
"""The cap of the amount of one slot."""
ALL_OF_IT: Final = 2**40
"""What an exclusive allocation takes: more of any resource class than a resource can have.

A million of these add up to 2**60, so sums over one resource stay within int64.
"""
MOST_CAPACITY: Final = ALL_OF_IT - 1
"""The cap of the capacity of a resource."""
FOR_EVER: Final = 253_402_300_800
"""The first second after the last date that `datetime` has."""
