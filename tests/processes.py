"""Runs our programs as an operator does: real processes, real sockets, stopped by process id.

with running("leasehold-api", database_url=url) as api, running("leasehold-manager", database_url=url):
    requests.get(f"{api.url}/leases")

Services are forks of a process that has them loaded (`tests.warm`), except where a test is about what a fork does not
have of its own: the start, the command line that the kernel shows, or an environment that is read by an import.
"""

from __future__ import annotations

import atexit
import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from leasehold.cloud.sandbox import seed
from leasehold.db import schema
from leasehold.db.engine import open_engine
from tests.servers import free_port
from tests.warm import Warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from tests.warm import Forked

Options = Mapping[str, Mapping[str, object]]
"""Options by section."""
BIN = Path(sys.executable).parent
PATH = f"{BIN}:/usr/bin:/bin"
"""Where the programs are looked for, if the environment does not say otherwise."""
SERVICES = ("leasehold-api", "leasehold-manager", "leasehold-standalone")
WARM = Warm(*SERVICES, "leasehold-manage", modules=tuple(f"leasehold.cmd.{name}" for name in ("standalone", "manage")))
"""The process that has them loaded: `leasehold-standalone` imports all that the other two import."""
atexit.register(WARM.close)
_START_WITHIN = 60.0
_STOP_WITHIN = 60.0
"""Longer than the default `shutdown_seconds` of a program."""
_POLL_EVERY = 0.02
_PAUSES = 4
_LONGEST_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Program:
    """A running program. `url` is its v1 endpoint if it serves the API, "" otherwise."""

    process: subprocess.Popen[bytes] | Forked
    url: str
    log: Path

    @property
    def root(self) -> str:
        """The URL without the version."""
        return self.url.removesuffix("/v1")

    def kill(self) -> None:
        """Kill the process without a shutdown, as a power cut would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Send SIGTERM, wait for the end, and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_STOP_WITHIN)


def prepare_database(url: str) -> None:
    """Upgrade the schema and plant the sandbox, as `leasehold-manage db upgrade` and `sandbox plant` do."""
    engine = open_engine(url)
    schema.upgrade(engine)
    seed.plant(engine)
    engine.dispose()


@contextmanager
def running(
    name: str,
    *,
    database_url: str | None = None,
    options: Options | None = None,
    environment: Mapping[str, str] | None = None,
    healthy: bool = True,
    afresh: bool = False,
) -> Iterator[Program]:
    """Run one of our console scripts with these options by section, on a free port, until the block ends.

    The block begins when the API answers, if the program has one and `healthy` is not False. The program is executed
    instead of forked if it has an environment of its own, or `healthy` is False, or for `afresh`.
    Raises AssertionError with the end of its log when it does not start or does not stop by itself.
    """
    with tempfile.TemporaryDirectory(prefix="leasehold-") as folder:
        port = free_port()
        alone = name == "leasehold-standalone"
        config = Path(folder) / "leasehold.conf"
        config.write_text(as_text(merged(own_options(port, database_url, alone=alone), options or {})))
        log = Path(folder) / "log"
        own = {"PATH": PATH, "LEASEHOLD_STATE": folder, **(environment or {})}
        begin = _execute if afresh or environment or not healthy or name not in SERVICES else _fork
        with log.open("wb") as output:
            process = begin(name, config, own, output)
        serves = name not in ("leasehold-manager", "leasehold-bridge")
        program = Program(process, f"http://127.0.0.1:{port}/v1" if serves else "", log)
        try:
            if serves and healthy:
                _wait_until_healthy(program)
            yield program
        finally:
            _end(program)


def _execute(name: str, config: Path, environment: Mapping[str, str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # The kernel stops the program if this process is killed, so no run leaves a server behind.
        ["setpriv", "--pdeathsig", "TERM", name, "--config-file", config],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=config.parent,
    )


def _fork(name: str, config: Path, environment: Mapping[str, str], output: IO[bytes]) -> Forked:
    words = ("--config-file", str(config))
    return WARM.start(name, *words, environment=environment, folder=config.parent, out=output, err=output)


def own_options(port: int, database_url: str | None, *, alone: bool = False) -> Options:
    """Return the options of every program of ours; `leasehold-standalone` has its own authentication and cloud."""
    sections: dict[str, dict[str, object]] = {
        "DEFAULT": {"host": "127.0.0.1", "port": port},
        # On a busy machine a process may wait longer for its turn than an offer in a refusal may take.
        "enforcement": {"max_explanation_seconds": 10},
    }
    if not alone:
        sections |= {"api": {"auth_strategy": "none"}, "cloud": {"driver": "sandbox"}}
    return sections if database_url is None else {**sections, "database": {"connection": database_url}}


def merged(first: Options, second: Options) -> dict[str, dict[str, object]]:
    """Return the options of both; `second` overrides `first`."""
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in {**first, **second}}


def as_text(sections: Options) -> str:
    lines: list[str] = []
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {value}" for key, value in values.items())]
    return "\n".join([*lines, ""]).replace("$", "$$")


def _wait_until_healthy(program: Program) -> None:
    deadline = time.monotonic() + _START_WITHIN
    while time.monotonic() < deadline and program.process.poll() is None:
        with contextlib.suppress(requests.ConnectionError):
            if requests.get(f"{program.root}/healthcheck", timeout=5).ok:
                return
        time.sleep(_POLL_EVERY)
    message = f"{program.process.args!r} did not start:\n{_tail(program.log)}"
    raise AssertionError(message)


def _end(program: Program) -> None:
    code = program.process.poll()
    if code is not None:
        if code not in (0, -signal.SIGKILL):
            message = f"{program.process.args!r} ended by itself with {code}:\n{_tail(program.log)}"
            raise AssertionError(message)
        return
    try:
        program.stop()
    except subprocess.TimeoutExpired:
        program.kill()
        message = f"{program.process.args!r} did not stop by itself:\n{_tail(program.log)}"
        raise AssertionError(message) from None


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-40:])


def wait_for(condition: Callable[[], object], within: float = 30.0) -> None:
    """Wait until `condition` returns a true value; raises AssertionError after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        began = time.monotonic()
        if condition():
            return
        now = time.monotonic()
        if now >= deadline:
            message = f"The condition did not become true within {within} s."
            raise AssertionError(message)
        time.sleep(min(pause_after(now - began), deadline - now))


def pause_after(took: float) -> float:
    """Return for how many seconds to pause after a check that took so many.

    A check that asks a server takes processor time from what it waits for, so most of the time goes to the pauses.
    """
    return min(max(_POLL_EVERY, _PAUSES * took), _LONGEST_PAUSE)
