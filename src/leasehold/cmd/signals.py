"""Waiting to be told to stop, by SIGINT or SIGTERM, whichever thread the kernel gives the signal to."""

from __future__ import annotations

import signal
import socket
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def heard() -> Iterator[Callable[[], object]]:
    """Give what waits for the first of the signals; from here on none of them ends the process by itself.

    Blocking them in this thread would not do: a library's threads (numpy's) are older, do not block them, and get them
    while this one is not waiting. A Python handler would not do either: it runs only once the main thread does
    something, which sleeps. What the interpreter's own handler writes to a socket wakes it from any thread.
    """
    awaited, written = socket.socketpair()
    with awaited, written:
        written.setblocking(False)
        before = signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
        for each in SIGNALS:
            signal.signal(each, _noted)
        try:
            yield partial(awaited.recv, 1)
        finally:
            # Stopping has begun, and goes on when the interpreter gives its handlers back.
            for each in SIGNALS:
                signal.signal(each, signal.SIG_IGN)
            signal.set_wakeup_fd(before)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: that a signal came is in the socket already."""
