"""Hooks: an operator's programs, run with a time limit."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from leasehold.cloud.ports import CloudTransientError

log = logging.getLogger(__name__)

SAID_BYTES = 2000
"""How much of a failed program's output is logged: its end."""


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
        # A file, because a pipe would keep all that the program writes in memory.
        with TemporaryFile() as output, self._start(output, device, reservation_id, project_id) as process:
            try:
                code = process.wait(self._seconds)
            except subprocess.TimeoutExpired:
                # The whole session: the program may have started others.
                os.killpg(process.pid, signal.SIGKILL)
                raise self._failed(device, f"took longer than {self._seconds:g} seconds") from None
            if code:
                output.seek(-min(output.seek(0, os.SEEK_END), SAID_BYTES), os.SEEK_END)
                said = output.read(SAID_BYTES).decode("utf-8", "replace").strip()
                log.warning("%s %s said: %s", self._program, device, said)
                raise self._failed(device, f"ended with code {code}")

    def _start(self, output: IO[bytes], *arguments: str) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 - the operator's own program, without a shell
                [str(self._program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise self._failed(arguments[0], f"cannot be started: {error.strerror}") from error

    def _failed(self, device: str, why: str) -> CloudTransientError:
        return CloudTransientError(f"the hook {Path(self._program or '').name} for device {device} {why}")
