"""Running services for the unmodified clients: one without authentication, one with passwords."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from blazarclient.client import Client
from keystoneauth1 import session
from keystoneauth1.loading import get_plugin_loader

from tests.processes import BIN, running, wait_for
from tests.users import users_file
from tests.warm import Warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PASSWORDS = {"admin": "correct horse", "bob": "battery:staple"}
USERS = {
    "admin": f"{PASSWORDS['admin']}:demo:admin,member,reader",
    "bob": f"{PASSWORDS['bob']}:alt:member,reader",
}
V1 = "%Y-%m-%d %H:%M"
BLAZAR, OPENSTACK = "blazar", "openstack"
PROGRAMS = Warm(BLAZAR, OPENSTACK, "leasehold-manage", modules=("leasehold.cmd.manage",))
RENAMED = {"lease set": "lease-update", "host set": "host-update"}
HARMLESS = re.compile(r"Could not load 'reservation_host_unset'.*|Matches: .*|")
"""Lines that the clients write to stderr even on success."""


@dataclass(frozen=True)
class Said:
    """The result of a command: exit status, stdout, and stderr without the lines of `HARMLESS`."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The cells of the printed table, the titles first."""
        lines = [line for line in self.out.splitlines() if line.startswith("|")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    @property
    def fields(self) -> dict[str, str]:
        """A printed table of fields and values; the lines of a multi-line value are joined."""
        found: dict[str, str] = {}
        name = ""
        for cells in self.rows[1:]:
            name = cells[0] or name
            found[name] = found[name] + "\n" + cells[1] if name in found else cells[1]
        return found

    def column(self, title: str) -> list[str]:
        place = self.rows[0].index(title)
        return [cells[place] for cells in self.rows[1:]]


@dataclass(frozen=True)
class Site:
    """A running service, and the authentication options of one user."""

    url: str
    auth_type: str
    database: str
    user: str = "admin"

    @property
    def options(self) -> dict[str, str]:
        """The options of the keystoneauth plugin."""
        if self.auth_type == "none":
            return {"endpoint": self.url}
        return {"endpoint": self.url, "username": self.user, "password": PASSWORDS[self.user]}

    def client(self, version: object = 1, **changes: str) -> Any:
        """Return the library's client, with a session that authenticates as the site requires."""
        plugin: Any = get_plugin_loader(self.auth_type).load_from_options(**{**self.options, **changes})
        return Client(version, session=session.Session(auth=plugin), service_type="reservation")

    def run(self, program: str, *words: str) -> Said:
        """Run a command line client with its options in the environment, as a user does."""
        options = {f"OS_{name.upper()}": value for name, value in self.options.items()}
        environ = {
            "PATH": f"{BIN}:/usr/bin:/bin",
            "HOME": os.environ["HOME"],
            "COLUMNS": "500",
        }
        login = {"OS_AUTH_TYPE": self.auth_type, **options}
        done = PROGRAMS.run(program, *words, environment={**environ, **login})
        err = "\n".join(line for line in done.stderr.splitlines() if not HARMLESS.fullmatch(line))
        return Said(done.returncode, done.stdout, err)

    def sandbox(self, *words: str) -> Said:
        """Run `leasehold-manage sandbox …` on the site's cloud."""
        return self.run("leasehold-manage", "--database-url", self.database, "sandbox", *words)

    def wait_for_status(self, lease: dict[str, Any], status: str) -> dict[str, Any]:
        """Wait until the client sees this status of the lease, and return the lease."""
        library = self.client()
        wait_for(lambda: library.lease.get(lease["id"])["status"] == status)
        found: dict[str, Any] = library.lease.get(lease["id"])
        return found


@dataclass(frozen=True)
class Shell:
    """One of the two command line clients at a site."""

    program: str
    site: Site

    def __call__(self, command: str, *words: str) -> Said:
        """Run a command by its OpenStack name, such as `lease list`."""
        if self.program == OPENSTACK:
            return self.site.run(OPENSTACK, "reservation", *command.split(), *words)
        return self.site.run(BLAZAR, RENAMED.get(command, command.replace(" ", "-")), *words)

    def ok(self, command: str, *words: str) -> Said:
        """Run a command that must succeed and write nothing unexpected to stderr."""
        said = self(command, *words)
        assert (said.status, said.err) == (0, ""), said.out
        return said


def later(**after: float) -> str:
    """Return the current time plus `after`, in v1's date format."""
    return (datetime.now(UTC) + timedelta(**after)).strftime(V1)


@pytest.fixture(scope="session", autouse=True)
def _programs() -> Iterator[None]:
    """Start the process that has the clients loaded when a test needs it; end it after the tests."""
    with closing(PROGRAMS):
        yield


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Site]]:
    """Yield a function that returns the site with an authentication strategy, and starts it at the first call.

    It ends with the module: a service without requests takes as much of the processor in two minutes as a start does.
    """
    known: dict[str, Site] = {}
    with ExitStack() as stack:

        def find(strategy: str) -> Site:
            if strategy not in known:
                folder = tmp_path_factory.mktemp(strategy)
                database = f"sqlite:///{folder}/leasehold.db"
                api = {"auth_strategy": strategy, "users_file": users_file(folder, USERS)}
                program = stack.enter_context(
                    running("leasehold-standalone", database_url=database, options={"api": api})
                )
                known[strategy] = Site(program.url, strategy, database)
            return known[strategy]

        yield find


@pytest.fixture(params=["none", "http_basic"])
def site(request: pytest.FixtureRequest, sites: Callable[[str], Site]) -> Site:
    """Return a site; the test runs once per authentication strategy."""
    return sites(request.param)


@pytest.fixture
def open_site(sites: Callable[[str], Site]) -> Site:
    """Return the site without passwords."""
    return sites("none")


@pytest.fixture
def closed_site(sites: Callable[[str], Site]) -> Site:
    """Return the site with passwords."""
    return sites("http_basic")
