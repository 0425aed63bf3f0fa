"""Processes that outlive their starter, identified by process id and start time, each with a separate log."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_POLL_EVERY = 0.05
# Fields of /proc/PID/stat, counted after the command's name: the state, and the start in clock ticks since boot.
_STATE, _STARTED = 0, 19
_EXIT_CODES: dict[int, int] = {}
"""Those of children of this process that have ended, by process id; negative: the signal that ended it."""


def _start_time(pid: int) -> int | None:
    """Return when a process started, None when it has ended: this tells ours from a later one with the same id."""
    # Reap the process if it is an ended child of ours.
    with contextlib.suppress(ChildProcessError):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            _EXIT_CODES[pid] = os.waitstatus_to_exitcode(status)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED])


@dataclass(frozen=True, slots=True)
class Processes:
    run: Path
    logs: Path

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def _record(self, name: str) -> Path:
        return self.run / f"{name}.json"

    def known(self) -> list[str]:
        return sorted(record.stem for record in self.run.glob("*.json"))

    def pid(self, name: str) -> int | None:
        """Return the id of the process with this name, None when it does not run."""
        try:
            record = json.loads(self._record(name).read_text())
        except FileNotFoundError:
            return None
        pid: int = record["pid"]
        # One that has ended at once has no start time that is known.
        return pid if record["started"] is not None and _start_time(pid) == record["started"] else None

    def ended(self, name: str) -> str:
        """Say how a process has ended that does not run, as far as that is known here, and how its log ends."""
        code = _EXIT_CODES.get(json.loads(self._record(name).read_text())["pid"])
        how = "" if code is None else f" with code {code}" if code >= 0 else f" by {signal.Signals(-code).name}"
        return f"{name} has ended{how}; its log ends with:\n{self.log_end(name)}"

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a process in a new session, unless it runs; its output goes to its log."""
        if self.pid(name) is not None:
            return
        self.run.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        program = ["/usr/bin/env", f"--chdir={self.run}", *command]
        # Not subprocess: its objects warn when they outlive us, and the cloud may do so.
        pid = os.posix_spawn(
            program[0],
            program,
            environment,
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.log(name)), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )
        # Atomically, because other processes read it without a lock.
        draft = self.run / f"{name}.new"
        draft.write_text(json.dumps({"pid": pid, "started": _start_time(pid)}))
        draft.replace(self._record(name))

    def stop(self, names: Iterable[str], within: float) -> None:
        """Send SIGTERM to all, and SIGKILL to those that still run after `within` seconds."""
        names = list(names)
        self._signal(names, signal.SIGTERM)
        deadline = time.monotonic() + within
        while any(self.pid(name) is not None for name in names) and time.monotonic() < deadline:
            time.sleep(_POLL_EVERY)
        self.kill(names)

    def kill(self, names: Iterable[str]) -> None:
        """Kill them at once, as a power failure would."""
        names = list(names)
        self._signal(names, signal.SIGKILL)
        while any(self.pid(name) is not None for name in names):
            time.sleep(_POLL_EVERY)
        for name in names:
            self._record(name).unlink(missing_ok=True)

    def suspend(self, name: str) -> None:
        """Let a process pause where it is, until `resume`."""
        self._signal([name], signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let a process go on that was suspended."""
        self._signal([name], signal.SIGCONT)

    def _signal(self, names: Iterable[str], number: signal.Signals) -> None:
        for name in names:
            pid = self.pid(name)
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    # Signal the whole process group, because some services have workers.
                    os.killpg(pid, number)

    def log_end(self, name: str, lines: int = 25) -> str:
        try:
            return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return "(no log)"
