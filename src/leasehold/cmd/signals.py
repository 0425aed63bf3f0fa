"""Being told to stop, by SIGINT or SIGTERM, whichever thread the kernel gives the signal to."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def end_when_told() -> None:
    """End the process with code 0 at the first of the signals, until `heard` or a server takes them over.

    It is for the start, when nothing is under way that has to be finished: the kernel closes what is open, and the
    database rolls back. An exception would do the same later, or never, where a library catches it.
    """
    for each in SIGNALS:
        signal.signal(each, _end)


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


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(0)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: that a signal came is in the socket already."""
