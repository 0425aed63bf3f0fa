"""Handles SIGINT and SIGTERM, in whichever thread the kernel delivers them."""

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
    """End the process with code 0 at the first of the signals, until `heard` or a server handles them.

    It is for the start, when no work has to be finished: the kernel closes open files, and the database rolls back. An
    exception would end the process later, or never if a library catches it.
    """
    for each in SIGNALS:
        signal.signal(each, _end)


@contextmanager
def heard() -> Iterator[Callable[[], object]]:
    """Yield a function that waits for the first of the signals; from here on none of them ends the process.

    It is not enough to block the signals in this thread: threads of a library (numpy's) started earlier, do not block
    them, and receive them. A Python handler is not enough either: it runs only in the main thread, which sleeps. So the
    interpreter's own handler writes to a socket, which wakes the main thread from any thread.
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
            # A further signal must not interrupt the stop, not even when the interpreter resets its handlers at exit.
            for each in SIGNALS:
                signal.signal(each, signal.SIG_IGN)
            signal.set_wakeup_fd(before)


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(0)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the interpreter has written the signal to the socket already."""
