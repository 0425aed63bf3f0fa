"""How a process treats its memory: it keeps what numpy frees, and never looks for garbage among what it began with."""

from __future__ import annotations

import ctypes
import gc

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
KEPT_BYTES = 64 * 1024 * 1024
LARGEST_KEPT_BLOCK = 4 * 1024 * 1024
ARENAS = 2


def keep_freed_memory() -> bool:
    """Keep what is freed, for all threads together; False where the C library is not glibc.

    A decision allocates and frees the same few megabytes each time. By default glibc hands such blocks back to the
    kernel, which then has to clear fresh pages for the next decision; `bench/calendar.py` shows the difference. And it
    keeps a store of its own for each thread: one that each of them has filled once is many times what any of them
    needs, and threads that hold the interpreter in turn hardly ever meet there; `bench/memory.py` shows that.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    wishes = {M_MMAP_THRESHOLD: LARGEST_KEPT_BLOCK, M_TRIM_THRESHOLD: KEPT_BYTES, M_ARENA_MAX: ARENAS}
    heeded = [mallopt(wish, value) for wish, value in wishes.items()]
    return all(heeded)


def keep_what_is_loaded() -> None:
    """Take all that exists now, modules above all, out of the garbage collector's sight.

    Else it goes through them again for every few thousand objects that a long list of leases makes.
    """
    gc.collect()
    gc.freeze()
