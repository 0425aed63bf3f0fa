"""Our real programs, forked from a process that has them loaded, with their steps counted and their clock shifted.

    with launched("leasehold-manager", folder, url, Plan(...)) as manager:
        manager.wait_for_death()

    with fleet([url], apis=4, managers=2) as site:
        site.apis[0].kill()

A fork takes a tenth of the time of a start. Where the start itself matters, use `tests.processes.running`.
"""

from __future__ import annotations

import ctypes
import faulthandler
import itertools
import os
import signal
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import requests
from prometheus_client.parser import text_string_to_metric_families

from leasehold.cmd import api, begin, manager
from leasehold.db import clock
from tests.harness.child import Child
from tests.harness.steps import Plan, Steps
from tests.processes import as_text, merged, own_options, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.processes import Options

API, MANAGER = "leasehold-api", "leasehold-manager"
PROGRAMS = {API: begin.api, MANAGER: begin.manager}
LOADED = (api, manager)
"""The modules they run, loaded before the fork."""
WITHIN = 30.0
STARTED_WITHIN = STOPPED_WITHIN = 60.0
"""Longer than the default `shutdown_seconds` of a program."""
DEATH_SIGNAL = 1
"""The number of PR_SET_PDEATHSIG."""
NOWHERE = "http://127.0.0.1:9/v1"
"""An endpoint at which nobody listens."""
SHORT_TIMES: Options = {
    "manager": {"claim_seconds": 10, "retry_most_seconds": 5, "shortest_no_show_seconds": 1},
    "physical:host": {"polling_interval": 1, "draw_seconds": 10},
    "enforcement": {"max_open_leases": -1},
}
"""The options of a fleet: its managers handle expired claims and failed hosts within seconds.

A project asks for thousands of leases, so it has no limit.
"""
_NUMBERS = itertools.count()


class Program:
    """One of our programs on a database. It can be killed and started again, which counts its steps anew.

    `up` is False while it has been killed or stopped; clients read it from their threads.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        database_url: str,
        plan: Plan | None = None,
        *,
        options: Options | None = None,
        offset: Path | None = None,
    ) -> None:
        """Prepare it; the file `offset` holds the seconds by which its clock is wrong."""
        label = f"{name}-{os.getpid()}-{next(_NUMBERS)}"
        self.name = name
        self.database_url = database_url
        self.log = folder / f"{label}.log"
        self.plan = plan or Plan(folder / f"{label}.steps")
        self._options = options or {}
        self._offset = offset
        self._port = self._metrics_port = 0
        self._process: Child | None = None
        self.up = False

    # ------------------------------------------------------------ its state

    @property
    def process(self) -> Child:
        """The process of its last start."""
        assert self._process is not None
        return self._process

    @property
    def alive(self) -> bool:
        """Return whether it runs."""
        return self._process is not None and self._process.exit_code is None

    @property
    def url(self) -> str:
        """The v1 endpoint of an API; nobody listens there while it is down."""
        return f"http://127.0.0.1:{self._port}/v1" if self.up else NOWHERE

    def stands_still(self) -> bool:
        """Return whether a signal has stopped (paused) it."""
        status = Path(f"/proc/{self.process.pid}/stat").read_text()
        return status.rpartition(")")[2].split()[0] == "T"

    def story(self) -> str:
        """Return the end of its log and its recorded steps."""
        return "\n".join([*self.log.read_text(errors="replace").splitlines()[-40:], *self.plan.steps()])

    def work_done(self) -> dict[str, int]:
        """Return the number of tasks by phase that this manager has done since its start; none while it is down."""
        found: dict[str, int] = {}
        if not self.alive:
            return found
        wait_for(lambda: _answers(f"http://127.0.0.1:{self._metrics_port}/metrics"))
        page = requests.get(f"http://127.0.0.1:{self._metrics_port}/metrics", timeout=WITHIN).text
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                if sample.name == "leasehold_tasks_total" and sample.labels["outcome"] == "done":
                    phase = sample.labels["phase"]
                    found[phase] = found.get(phase, 0) + int(sample.value)
        return found

    # ------------------------------------------------------------ what happens to it

    def start(self) -> None:
        """Start it, and wait until it answers requests or looks for work, or its plan has killed it."""
        self.end()
        self.plan.log.unlink(missing_ok=True)
        self._port, self._metrics_port = free_port(), free_port()
        own = merged(own_options(self._port, self.database_url), {"manager": {"metrics_port": self._metrics_port}})
        config = self.log.with_suffix(".conf")
        config.write_text(as_text(merged(own, self._options)))
        self._process = Child(self.log.stem, _run, self.name, config, self.log, self.plan, self._offset)
        wait_for(self._works, STARTED_WITHIN)
        self.up = True

    def _works(self) -> bool:
        if not self.alive:
            assert self.plan.moment, f"It did not start:\n{self.story()}"
            return True
        return _answers(f"http://127.0.0.1:{self._port}/healthcheck") if self.name == API else self.plan.log.exists()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.signal(number)

    def wait_for_death(self) -> None:
        """Wait until its plan has killed it."""
        self.process.ends_within(WITHIN)
        code = self.process.exit_code
        assert code == -signal.SIGKILL, f"It ended with {code} {self.plan}:\n{self.story()}"

    def wait_for_stop(self) -> None:
        """Wait until its plan has paused it."""
        wait_for(self.stands_still, WITHIN)

    def kill(self) -> None:
        """Kill it with SIGKILL, as a power cut would."""
        self.up = False
        self.process.kill()

    def stop(self) -> None:
        """Send SIGTERM and check that it exits by itself."""
        if self.alive:
            self.signal(signal.SIGTERM)
        if not self.process.ends_within(STOPPED_WITHIN):
            self.signal(signal.SIGUSR1)
            self.process.ends_within(1.0)
        assert self.process.exit_code == 0, f"It did not stop by itself ({self.process.exit_code}):\n{self.story()}"

    def end(self) -> None:
        """Stop it, or kill it if it had a plan; raise AssertionError when it ended by itself or does not stop."""
        if self._process is None:
            return
        try:
            if self.alive:
                self.signal(signal.SIGCONT)
                if self.plan.moment:
                    self.kill()
                else:
                    self.stop()
            code = self.process.exit_code
            assert code in (0, -signal.SIGKILL), f"It ended by itself with {code}:\n{self.story()}"
        finally:
            self.kill()
            self.process.close()
            self._process = None


@contextmanager
def launched(
    name: str,
    folder: Path,
    database_url: str,
    plan: Plan | None = None,
    *,
    options: Options | None = None,
    offset: Path | None = None,
) -> Iterator[Program]:
    """Run a program until the block ends."""
    program = Program(name, folder, database_url, plan, options=options, offset=offset)
    try:
        program.start()
        yield program
    finally:
        program.end()


@dataclass(frozen=True)
class Fleet:
    """Several API processes and several managers on one database."""

    apis: Sequence[Program]
    managers: Sequence[Program]

    @property
    def members(self) -> Sequence[Program]:
        """All of them."""
        return [*self.apis, *self.managers]

    @property
    def database_url(self) -> str:
        """The database, through the first member."""
        return self.members[0].database_url

    def url(self, client: int) -> str:
        """Return the endpoint for this client: its own process's, or that of the next one that runs."""
        members = [*self.apis[client % len(self.apis) :], *self.apis[: client % len(self.apis)]]
        return next((member.url for member in members if member.up), members[0].url)


@contextmanager
def fleet(urls: Sequence[str], *, apis: int, managers: int = 0, options: Options | None = None) -> Iterator[Fleet]:
    """Run this many processes, each on one of `urls` in rotation, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="leasehold-fleet-") as folder, ExitStack() as stack:

        def member(name: str, number: int) -> Program:
            url = urls[number % len(urls)]
            return stack.enter_context(launched(name, Path(folder), url, options=merged(SHORT_TIMES, options or {})))

        yield Fleet([member(API, number) for number in range(apis)], [member(MANAGER, n) for n in range(managers)])


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=WITHIN).ok
    except requests.ConnectionError:
        return False


STACKS_TOLD = b"These were the stacks of all threads.\n"
"""The line that a program writes after its stacks."""


def _run(name: str, config: Path, log: Path, plan: Plan, offset: Path | None) -> None:
    """Run the program in the forked process."""
    ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
    with log.open("ab") as output:
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
            os.write(2, STACKS_TOLD)

    threading.Thread(target=tell, name="stacks", daemon=True).start()


def _set_wrong(offset: Path) -> None:
    """Shift the wall clock by the seconds that the file holds at each reading; the monotonic clock stays correct."""
    clock.utc_now = lambda: datetime.now(UTC) + timedelta(seconds=float(offset.read_text()))
