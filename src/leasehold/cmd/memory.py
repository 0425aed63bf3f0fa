"""How a process treats its memory: it keeps what numpy frees, and never looks for garbage among what it began with."""

from __future__ import annotations

import ctypes
import gc

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
KEPT_BYTES = 64 * 1024 * 1024
LARGEST_KEPT_BLOCK = 4 * 1024 * 1024


def keep_freed_memory() -> bool:
    """Raise the thresholds above which memory goes back to the kernel; False where the C library is not glibc.

    A decision allocates and frees the same few megabytes each time. By default glibc hands such blocks back to the
    kernel, which then has to clear fresh pages for the next decision; `bench/calendar.py` shows the difference.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BLOCK) and mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))


def keep_what_is_loaded() -> None:
    """Take all that exists now, modules above all, out of the garbage collector's sight.

    Else it goes through them again for every few thousand objects that a long list of leases makes.
    """
    gc.collect()
    gc.freeze()
