"""Leasehold on the cloud under test: an API and a manager as an operator runs them, and the endpoint in the catalogue.

with running_leasehold(cloud) as leasehold:
    requests.get(f"{leasehold.url}/leases", headers={"X-Auth-Token": token})
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, func, select

from leasehold.db.tables import tasks
from tests.processes import WARM, as_text, running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.openstack.cloud.running import RunningCloud
    from tests.processes import Program

Options = dict[str, dict[str, object]]

FREE_POOL = "freepool"
SERVICE_USER = "leasehold"
SERVICE_PROJECT = "service"
_FINISH_WITHIN = 60.0
QUICK: Options = {"physical:host": {"polling_interval": 2}}
"""Frequent health checks, for tests that wait for one. A check takes 0.15 s of processor time, mostly of Nova."""


def configuration(cloud: RunningCloud, database_url: str, more: Mapping[str, Mapping[str, object]]) -> Options:
    """Return the options of a Leasehold on this cloud, by section; `more` adds to them."""
    account: dict[str, object] = {
        "auth_type": "password",
        "auth_url": cloud.auth_url,
        "username": SERVICE_USER,
        "password": cloud.password,
        "project_name": SERVICE_PROJECT,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    memcached = f"127.0.0.1:{cloud.ports['memcached']}"
    options: Options = {
        "database": {"connection": database_url},
        "api": {"auth_strategy": "keystone"},
        "cloud": {"driver": "openstack", **account},
        "keystone_authtoken": {**account, "memcached_servers": memcached, "www_authenticate_uri": cloud.auth_url},
        "physical:host": {"polling_interval": 30, "enable_polling_monitor": True},
        "manager": {"retry_most_seconds": 5},
    }
    for section, values in more.items():
        options.setdefault(section, {}).update(values)
    return options


class RunningLeasehold:
    """One API and at most one manager of ours, which can be stopped, killed and started again."""

    def __init__(self, options: Options, folder: Path) -> None:
        """Write the configuration file; nothing runs yet."""
        self.options = options
        self.config_file = folder / "leasehold.conf"
        self.config_file.write_text(as_text(options))
        self._api: tuple[ExitStack, Program] | None = None
        self._manager: tuple[ExitStack, Program] | None = None

    @property
    def url(self) -> str:
        """The v1 endpoint of the API that runs."""
        assert self._api is not None, "the API does not run"
        return self._api[1].url

    @property
    def root(self) -> str:
        """The URL without the version, as a `Program` has it."""
        return self.url.removesuffix("/v1")

    def manage(self, *arguments: str) -> str:
        """Run `leasehold-manage` with these arguments and return what it prints."""
        words = ("--config-file", str(self.config_file), *arguments)
        done = WARM.run("leasehold-manage", *words, environment=os.environ)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def start_api(self) -> None:
        """Start the API and wait until it answers."""
        self._api = _start("leasehold-api", self.options)

    def start_manager(self) -> None:
        """Start the manager."""
        self._manager = _start("leasehold-manager", self.options)

    def stop_api(self) -> None:
        """Stop the API after it has answered its open requests."""
        if self._api is not None:
            self._api[0].close()
        self._api = None

    def stop_manager(self) -> None:
        """Stop the manager after it has finished its current tasks."""
        if self._manager is not None:
            self._manager[0].close()
        self._manager = None

    def kill_manager(self) -> None:
        """Kill the manager, as a power failure would."""
        assert self._manager is not None, "the manager does not run"
        self._manager[1].kill()
        self.stop_manager()

    def manager_log(self) -> str:
        """Return what the manager has logged."""
        assert self._manager is not None, "the manager does not run"
        return self._manager[1].log.read_text(errors="replace")


@contextmanager
def running_leasehold(
    cloud: RunningCloud,
    database: str = "leasehold",
    more: Mapping[str, Mapping[str, object]] | None = None,
    *,
    with_manager: bool = True,
) -> Iterator[RunningLeasehold]:
    """Run a new Leasehold on a new database of the cloud's server, with its endpoint in the catalogue."""
    with tempfile.TemporaryDirectory(prefix="leasehold-cloud-") as folder:
        options = configuration(cloud, cloud.database_url(database), more or {})
        leasehold = RunningLeasehold(options, Path(folder))
        leasehold.manage("db", "upgrade")
        try:
            leasehold.start_api()
            if with_manager:
                leasehold.start_manager()
            cloud.set_endpoint("reservation", leasehold.url)
            yield leasehold
            if with_manager:
                wait_for(lambda: not _due_tasks(options), within=_FINISH_WITHIN)
        finally:
            leasehold.stop_manager()
            leasehold.stop_api()


def _due_tasks(options: Options) -> int:
    """Count the due tasks of the manager, such as the release of hosts that are no longer enrolled."""
    engine = create_engine(str(options["database"]["connection"]))
    due = select(func.count()).where(tasks.c.due_at <= datetime.now(UTC))
    with engine.connect() as connection:
        count: int = connection.execute(due).scalar_one()
    engine.dispose()
    return count


def _start(name: str, options: Options) -> tuple[ExitStack, Program]:
    stack = ExitStack()
    return stack, stack.enter_context(running(name, options=options))
