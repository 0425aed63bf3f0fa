"""A running service on its sandbox cloud, and a shell that runs our command lines against it as a user does."""

from __future__ import annotations

import json
import logging
import subprocess
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from keystoneauth1.loading import get_plugin_loader
from keystoneauth1.session import Session

from leasehold_client import Client
from leasehold_client.cli.app import LeaseholdApp
from tests.processes import BIN, Options, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CLI_WITHIN = 60
ZONE = "Asia/Kathmandu"
"""The zone of the user: no other zone that matters here is 5:45 ahead of UTC, and it has no summer time."""


@dataclass(frozen=True)
class Said:
    """The result of a command: exit status, stdout and stderr."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """Runs the command line with the options of one user in the environment."""

    environ: Mapping[str, str]
    program: tuple[str, ...] = ("leasehold",)
    more: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *words: str) -> Said:
        done = subprocess.run(
            [BIN / self.program[0], *self.program[1:], *words],
            env={**self.environ, **self.more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CLI_WITHIN,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def ok(self, *words: str) -> Said:
        """Run a command that must succeed."""
        said = self(*words)
        assert said.status == 0, said.err + said.out
        return said

    def with_environ(self, **more: str) -> Shell:
        return replace(self, more={**self.more, **more})


@dataclass(frozen=True)
class Inside:
    """Runs the command line in this process, which is many times faster than a program that has to start."""

    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Said:
        self.capsys.readouterr()
        status = LeaseholdApp(words).run(list(words))
        out, err = self.capsys.readouterr()
        return Said(status, out, err)

    def ok(self, *words: str) -> Said:
        """Run a command that must succeed."""
        said = self(*words)
        assert said.status == 0, f"{words}: {said.err}"
        return said


@pytest.fixture
def inside(
    client: Client,
    endpoint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Inside]:
    """Yield our commands in this process, for a user of the service without passwords."""
    for name, value in {"OS_AUTH_TYPE": "none", "OS_ENDPOINT": endpoint, "TZ": ZONE, "COLUMNS": "300"}.items():
        monkeypatch.setenv(name, value)
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield Inside(capsys)
    # A command line configures the logs of its whole process.
    root.setLevel(level)
    root.handlers[:] = handlers


PRICES = """
unit = "EUR"
[[list]]
name = "always"
from = 2020-01-01T00:00:00Z
[[list.rule]]
type = "virtual:floatingip"
hour = "0.5"
"""
"""What addresses cost; everything else is free."""


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service that asks for no password."""
    folder = tmp_path_factory.mktemp("client")
    database = f"sqlite:///{folder}/leasehold.db"
    (folder / "prices.toml").write_text(PRICES)
    options: Options = {
        "manager": {"open_ended_seconds": 30 * 86_400},
        "filler": {"hosts": 5},
        "price": {"file": str(folder / "prices.toml")},
    }
    with running("leasehold-standalone", database_url=database, options=options) as program:
        yield program.url


@pytest.fixture
def client(endpoint: str) -> Iterator[Client]:
    """Yield the library's client; delete all that was made after the test."""
    login: Any = get_plugin_loader("none").load_from_options(endpoint=endpoint)
    client = Client(Session(auth=login))
    yield client
    own = (client.series, client.alarms, client.subscriptions, client.feeds, client.offers, client.templates)
    for each in (*own, client.published_offers, client.maintenances):
        for thing in each.list():
            each.delete(thing.id)
    for lease in client.leases.list():
        client.leases.delete(lease.id)


@pytest.fixture
def shell(client: Client, endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Return our own program, for a user of the service without passwords."""
    login = {"OS_AUTH_TYPE": "none", "OS_ENDPOINT": endpoint}
    home = {"HOME": str(tmp_path_factory.getbasetemp()), "PATH": f"{BIN}:/usr/bin:/bin"}
    return Shell({**home, **login, "TZ": ZONE, "COLUMNS": "300"})
