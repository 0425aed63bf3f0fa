"""Memory settings of a process: keep what numpy frees, and exclude the objects of the start from collection."""

from __future__ import annotations

import ctypes
import gc

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
KEPT_BYTES = 64 * 1024 * 1024
LARGEST_KEPT_BLOCK = 4 * 1024 * 1024
ARENAS = 2
COLLECTED_AFTER = 50_000
"""In objects; more than there are in one chunk of a list."""


def keep_freed_memory() -> bool:
    """Keep freed memory, in few arenas for all threads; False if the C library is not glibc.

    A decision allocates and frees the same few megabytes each time. By default glibc returns such blocks to the kernel,
    which must clear new pages for the next decision; `bench/calendar.py` shows the difference. By default glibc also
    has an arena for each thread. Together the arenas grow to many times the memory in use, while threads that share
    the interpreter's lock hardly ever compete for one arena; `bench/memory.py` shows that.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    wishes = {M_MMAP_THRESHOLD: LARGEST_KEPT_BLOCK, M_TRIM_THRESHOLD: KEPT_BYTES, M_ARENA_MAX: ARENAS}
    heeded = [mallopt(wish, value) for wish, value in wishes.items()]
    return all(heeded)


def keep_what_is_loaded() -> None:
    """Exclude all objects that exist now, mostly modules, from garbage collection, and collect less often.

    Otherwise the collector scans them again for every few thousand objects that a long list of leases creates. Those
    have no cycles, so they are freed without it; by default it would look at them again after every 700.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER)
