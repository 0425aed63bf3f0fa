"""Hooks: an operator's programs, run with a time limit."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
from pathlib import Path

from leasehold.cloud.ports import CloudTransientError

log = logging.getLogger(__name__)


class Hook:
    """A program that is called with device, reservation and project. It may be called again, so it is idempotent."""

    def __init__(self, program: str | None, seconds: float) -> None:
        """Without a program nothing is run."""
        self._program = program
        self._seconds = seconds

    def run(self, device: str, reservation_id: str, project_id: str) -> None:
        """Run the program; raises CloudTransientError if it fails, or is killed after the time limit."""
        if self._program is None:
            return
        try:
            process = subprocess.Popen(  # noqa: S603 - the operator's own program, without a shell
                [self._program, device, reservation_id, project_id],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise self._failed(device, f"cannot be started: {error.strerror}") from error
        with process:
            try:
                said, _ = process.communicate(timeout=self._seconds)
            except subprocess.TimeoutExpired:
                # The whole session, because what the program has started holds its output open.
                os.killpg(process.pid, signal.SIGKILL)
                raise self._failed(device, f"took longer than {self._seconds:g} seconds") from None
        if process.returncode:
            log.warning("%s %s said: %s", self._program, device, said.decode("utf-8", "replace").strip())
            raise self._failed(device, f"ended with code {process.returncode}")

    def _failed(self, device: str, why: str) -> CloudTransientError:
        return CloudTransientError(f"the hook {Path(self._program or '').name} for device {device} {why}")
