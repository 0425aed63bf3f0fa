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
"""Positions of resources in the pool, by resource number."""
Seconds: TypeAlias = NDArray[np.int64]
"""Moments in whole seconds since the epoch."""

MOST_SLOTS: Final = 2**31 - 1
"""What a count of slots is capped at: the largest amount that a request may name (contract resources §3)."""
MOST_DEMAND: Final = 2**31 - 1
"""What the amount of one slot is capped at."""
ALL_OF_IT: Final = 2**40
"""More of any resource class than a resource can have: what an exclusive promise takes.

A million of these add up to 2**60, so sums over one resource stay within int64.
"""
MOST_CAPACITY: Final = ALL_OF_IT - 1
"""What the capacity of a resource is capped at."""
