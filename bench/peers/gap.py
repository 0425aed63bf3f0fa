"""When all hosts are free, from a list of reservations: what a client of Slurm has to find out by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bench.peers.peer import Window


def first_gap(starts: NDArray[np.int64], ends: NDArray[np.int64], window: Window) -> int:
    """Return the first moment of the window from which no reservation begins or lasts for so many seconds."""
    order = np.argsort(starts)
    # Before each reservation, and after the last one: when all earlier ones are over.
    over = np.maximum.accumulate(np.concatenate(([window.after], ends[order])))
    wide = np.flatnonzero(starts[order] - over[:-1] >= window.seconds)
    return int(over[wide[0]] if wide.size else over[-1])
