"""Ask the C library to keep memory that numpy frees: a decision allocates and frees the same few megabytes each time.

By default glibc hands such blocks back to the kernel, which then has to clear fresh pages for the next decision;
`bench/calendar.py` shows the difference for searches.
"""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
KEPT_BYTES = 64 * 1024 * 1024
LARGEST_KEPT_BLOCK = 4 * 1024 * 1024


def keep_freed_memory() -> bool:
    """Raise the thresholds above which memory goes back to the kernel; False where the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BLOCK) and mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
