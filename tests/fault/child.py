"""A forked process whose exit code is certain, however many threads start and end others at the same time.

Whenever multiprocessing starts a process it asks for the exit codes of all that it knows. A forkserver hands out each
code once, so of two threads that ask at the same moment one finds nothing, and multiprocessing then says 255.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from threading import Lock
from typing import TYPE_CHECKING, Any

from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.fault.program", "alembic.command"])
_ASKING = Lock()
"""Held by whoever makes multiprocessing ask for exit codes."""


class Child:
    """A process that runs one call; it has to be closed when it has ended."""

    def __init__(self, name: str, target: Callable[..., object], *args: Any) -> None:
        """Start it."""
        self._process = _forking.Process(target=target, args=args, name=name)
        with _ASKING:
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None while it runs."""
        with _ASKING:
            return self._process.exitcode

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def ends_within(self, seconds: float) -> bool:
        """Wait until it has ended; say whether it has."""
        try:
            wait_for(lambda: self.exit_code is not None, seconds)
        except AssertionError:
            return False
        return True

    def kill(self) -> None:
        """End it as a power cut would, and wait until it has."""
        if self.exit_code is None:
            self.signal(signal.SIGKILL)
            wait_for(lambda: self.exit_code is not None)

    def close(self) -> None:
        """Forget it; it has ended."""
        with _ASKING:
            self._process.close()
