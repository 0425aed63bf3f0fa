"""From the wheels to a lease on a machine that has only Python: what a user does first, with `python -m venv` and pip.

pip asks the index that the machine's configuration names. Programs get PATH and HOME and no other variable.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest
import requests

from tests.console.browser import running_browser
from tests.processes import as_text, wait_for
from tests.release.distributions import PROJECTS, build, declared
from tests.servers import free_port
from tests.test_house import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INSTALL_WITHIN = 400
WITHIN = 60
OF_THE_TREE = ("PYTHON", "VIRTUAL_ENV")
"""What begins so in the environment belongs to the Python that runs the tests."""
LEASE = "my-first-lease"


@dataclass(frozen=True)
class Machine:
    """A virtual environment with the wheels, and a home and a folder that are empty at first."""

    environment: Path
    home: Path
    folder: Path

    @property
    def variables(self) -> dict[str, str]:
        return {"PATH": f"{self.environment / 'bin'}:/usr/bin:/bin", "HOME": str(self.home)}

    def run(self, command: str) -> str:
        """Run a command of a shell in the folder, and return what it says; raises AssertionError if it fails."""
        shell = ["sh", "-c", command]
        done = subprocess.run(
            shell, cwd=self.folder, env=self.variables, capture_output=True, text=True, timeout=WITHIN, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def pip(self, *arguments: object) -> None:
        """Run pip with the configuration of this machine."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith(OF_THE_TREE)}
        command = [str(self.environment / "bin" / "pip"), *map(str, arguments)]
        done = subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=INSTALL_WITHIN, check=False
        )
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine on which the wheels are installed as docs/operators/install.md says."""
    found = Machine(tmp_path / "environment", tmp_path / "home", tmp_path / "folder")
    found.home.mkdir()
    found.folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", found.environment], check=True, capture_output=True)
    wheels = build(tmp_path / "dist").glob("*.whl")
    pins = [word for name in ("runtime", "client") for word in ("-r", ROOT / "requirements" / f"{name}.txt")]
    found.pip("install", "--quiet", "--require-hashes", *pins)
    # Whatever a wheel needs has to be one of the pins.
    found.pip("install", "--quiet", "--no-index", *wheels)
    found.pip("check")
    return found


@dataclass(frozen=True)
class Standalone:
    """The service as it runs, and what it has said so far."""

    process: subprocess.Popen[bytes]
    log: Path
    root: str

    def said(self, pattern: str) -> str:
        """Wait until a line matches, and return it without the blanks around it."""
        matching = re.compile(f"^ *({pattern})$", re.MULTILINE)
        wait_for(lambda: matching.search(self.log.read_text()) or self.process.poll() is not None, WITHIN)
        found = matching.search(self.log.read_text())
        assert found, self.log.read_text()
        return found[1]


@contextmanager
def standalone(machine: Machine, scratch: Path) -> Iterator[Standalone]:
    """Start `leasehold-standalone` in the empty folder; its usual port may be taken by somebody else's."""
    port = free_port()
    config = scratch / "port.conf"
    config.write_text(as_text({"DEFAULT": {"port": port}}))
    log = scratch / "log"
    program = machine.environment / "bin" / "leasehold-standalone"
    # The kernel stops the service if the run of the tests is killed.
    command = ["setpriv", "--pdeathsig", "TERM", str(program), "--config-file", str(config)]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=machine.folder, env=machine.variables, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield Standalone(process, log, f"http://127.0.0.1:{port}")
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stranger_leases_a_host_with_nothing_but_python_and_the_wheels(machine: Machine, tmp_path: Path) -> None:
    """One test, because the installation takes half a minute."""
    check_that_every_program_says_what_it_is(machine)
    assert list(machine.folder.iterdir()) == []
    with standalone(machine, tmp_path) as service:
        setting = service.said("export OS_ENDPOINT=.*")
        service.said("leasehold lease create trial .*")
        assert service.root in setting

        def do(command: str) -> str:
            return machine.run(f"{setting}\n{command}")

        made = do(f"""leasehold lease create {LEASE} --hosts 1 --properties '[">=", "$vcpus", "16"]' --for 3h --wait""")
        assert re.search(r"\| status +\| ACTIVE +\|", made), made
        assert do(f"leasehold lease show {LEASE} -f value -c status") == "ACTIVE\n"
        assert "cmp-03.example ······" in do("leasehold calendar --for 12h")
        reservation = do(f"leasehold lease resources {LEASE} -f value -c reservation_id").strip()
        boot = f"leasehold-manage sandbox boot inside --project demo --flavor m1.small --reservation {reservation}"
        assert " is ACTIVE on cmp-03." in do(boot)
        check_the_console(service)
        do(f"leasehold lease delete {LEASE}")
        assert do("leasehold lease list -f value") == ""
        os.kill(service.process.pid, signal.SIGTERM)
        assert service.process.wait(WITHIN) == 0
        assert service.log.read_text().endswith("\nLeasehold stopped.\n")
    assert [path.name for path in machine.folder.iterdir()] == [".state"]
    assert (machine.environment / "share" / "leasehold" / "etc" / "leasehold" / "leasehold.conf").exists()


def check_that_every_program_says_what_it_is(machine: Machine) -> None:
    version = declared("leasehold")["version"]
    programs = {name for project in PROJECTS for name in declared(project).get("scripts", ())}
    assert {
        each.name for each in entry_points(group="console_scripts") if each.value.startswith("leasehold")
    } == programs
    for program in programs:
        assert machine.run(f"{program} --version").split()[-1] == version
        text = machine.run(f"{program} --help")
        assert text.startswith(f"usage: {program} ")
        # The sentence after the usage.
        assert re.search(r"\n\n[A-Z][^\n]*(?:\n[^\n]+)*\.\n\n", text), text


def check_the_console(service: Standalone) -> None:
    page = requests.get(f"{service.root}/console", timeout=WITHIN)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    with running_browser() as browser:
        browser.open(service)
        browser.until(lambda: browser.role("button", "Sign in"))
        browser.sign_in(service)
        browser.open(service, "leases")
        browser.until(lambda: LEASE in browser.text())
