"""Our real programs, forked from a process that has them loaded, with their steps counted and their clock shifted.

with launched("leasehold-manager", place, Plan(...)) as manager:
    manager.wait_for_death()
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from leasehold.cmd import api, begin, manager
from leasehold.db import clock
from tests.fault.child import Child
from tests.fault.steps import Plan, Steps
from tests.processes import as_text, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROGRAMS = {"leasehold-api": begin.api, "leasehold-manager": begin.manager}
LOADED = (api, manager)
"""The modules they run, loaded before the fork."""
WITHIN = 30.0
DEATH_SIGNAL = 1
"""The number of PR_SET_PDEATHSIG."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A program that runs or has died. `url` is the v1 endpoint of an API."""

    process: Child
    url: str
    log: Path
    plan: Plan

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.signal(number)

    def stands_still(self) -> bool:
        """Return whether a signal has stopped (paused) it."""
        status = Path(f"/proc/{self.pid}/stat").read_text()
        return status.rpartition(")")[2].split()[0] == "T"

    def wait_for_death(self) -> None:
        """Wait until its plan has killed it."""
        self.process.ends_within(WITHIN)
        assert self.process.exit_code == -signal.SIGKILL, (
            f"It ended with {self.process.exit_code} {self.plan}:\n{self.story()}"
        )

    def wait_for_stop(self) -> None:
        """Wait until its plan has paused it."""
        wait_for(self.stands_still, WITHIN)

    def kill(self) -> None:
        """Kill it with SIGKILL, as a power cut would."""
        self.process.kill()

    def stop(self) -> None:
        """Send SIGTERM and check that it exits by itself."""
        if self.process.exit_code is None:
            self.signal(signal.SIGTERM)
        if not self.process.ends_within(WITHIN):
            self.signal(signal.SIGUSR1)
            self.process.ends_within(1.0)
        assert self.process.exit_code == 0, f"It did not stop by itself ({self.process.exit_code}):\n{self.story()}"

    def story(self) -> str:
        """Return the end of its log and its recorded steps."""
        return "\n".join([*self.log.read_text(errors="replace").splitlines()[-40:], *self.plan.steps()])


@contextmanager
def launched(
    name: str,
    folder: Path,
    database_url: str,
    plan: Plan | None = None,
    *,
    options: Mapping[str, Mapping[str, object]] | None = None,
    offset: Path | None = None,
) -> Iterator[Launched]:
    """Run a program until the block ends; the file `offset` holds the seconds by which its clock is wrong."""
    label = f"{name}-{time.monotonic_ns()}"
    plan = plan or Plan(folder / f"{label}.steps")
    port = free_port()
    sections: dict[str, dict[str, object]] = {
        "DEFAULT": {"host": "127.0.0.1", "port": port},
        "api": {"auth_strategy": "none"},
        "cloud": {"driver": "sandbox"},
        "database": {"connection": database_url},
    }
    for section, values in (options or {}).items():
        sections.setdefault(section, {}).update(values)
    config, log = folder / f"{label}.conf", folder / f"{label}.log"
    config.write_text(as_text(sections))
    process = Child(label, _run, name, config, log, plan, offset)
    url = f"http://127.0.0.1:{port}/v1" if name == "leasehold-api" else ""
    program = Launched(process, url, log, plan)
    try:
        wait_for(lambda: _works(program), WITHIN)
        yield program
    finally:
        if process.exit_code is None:
            program.signal(signal.SIGCONT)
            if plan.moment:
                program.kill()
            else:
                program.stop()
        process.close()
        config.unlink()


def _works(program: Launched) -> bool:
    """Return whether it answers requests or looks for work, or its plan has already killed it."""
    if program.process.exit_code is not None:
        assert program.plan.moment, f"It did not start:\n{program.story()}"
        return True
    if not program.url:
        return program.plan.log.exists()
    try:
        return requests.get(f"{program.url.removesuffix('/v1')}/healthcheck", timeout=WITHIN).ok
    except requests.ConnectionError:
        return False


def _run(name: str, config: Path, log: Path, plan: Plan, offset: Path | None) -> None:
    """Run the program in the forked process."""
    ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
    with log.open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    _tell_stacks_when_asked()
    sys.argv = [name, "--config-file", str(config)]
    if offset is not None:
        _set_wrong(offset)
    Steps(plan).install()
    PROGRAMS[name]()


def _tell_stacks_when_asked() -> None:
    """Start a thread that writes all stacks at SIGUSR1.

    A `faulthandler` signal handler reads the frames of running threads, which sometimes crashes; a thread that waits
    for the signal reads them while it holds the GIL. Threads started later leave the signal to this one.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})

    def tell() -> None:
        while signal.sigwait({signal.SIGUSR1}):
            faulthandler.dump_traceback()

    threading.Thread(target=tell, name="stacks", daemon=True).start()


def _set_wrong(offset: Path) -> None:
    """Shift the wall clock by the seconds that the file holds at each reading; the monotonic clock stays correct."""
    clock.utc_now = lambda: datetime.now(UTC) + timedelta(seconds=float(offset.read_text()))
