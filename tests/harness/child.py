"""A forked process with a reliable exit code, even while other threads start and end processes.

multiprocessing polls the exit codes of all its children whenever it starts a process. A forkserver returns each code
only once, so when two threads poll at the same moment, one reads nothing and multiprocessing reports 255.
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
_forking.set_forkserver_preload(["tests.harness.programs", "alembic.command"])
_ASKING = Lock()
"""Serializes everything that makes multiprocessing poll exit codes."""


class Child:
    """A process that runs one call; the caller must `close` it after it ended."""

    def __init__(self, name: str, target: Callable[..., object], *args: Any) -> None:
        """Start it."""
        self._process = _forking.Process(target=target, args=args, name=name)
        with _ASKING:
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, the negative signal number for a killed process, or None while it runs."""
        with _ASKING:
            return self._process.exitcode

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def ends_within(self, seconds: float) -> bool:
        """Wait for the process to end; return whether it ended in time."""
        try:
            wait_for(lambda: self.exit_code is not None, seconds)
        except AssertionError:
            return False
        return True

    def kill(self) -> None:
        """Kill it with SIGKILL, as a power cut would, and wait until it ended."""
        if self.exit_code is None:
            self.signal(signal.SIGKILL)
            wait_for(lambda: self.exit_code is not None)

    def close(self) -> None:
        """Release the resources of the ended process."""
        with _ASKING:
            self._process.close()
