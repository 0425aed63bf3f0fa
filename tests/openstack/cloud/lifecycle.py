"""Starting and stopping the whole cloud."""

from __future__ import annotations

import logging
import shutil
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.openstack.cloud import databases, ports, state, template
from tests.openstack.cloud.accounts import seed_accounts
from tests.openstack.cloud.clients import connect
from tests.openstack.cloud.configuration import write_all
from tests.openstack.cloud.configuration.compute import DOWN_AFTER
from tests.openstack.cloud.contents import seed_contents
from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.health import wait_until_nova_works, wait_until_ready
from tests.openstack.cloud.home import find_home
from tests.openstack.cloud.install import VENVS, find_servers, install, venv_path
from tests.openstack.cloud.layout import Site
from tests.openstack.cloud.processes import Processes
from tests.openstack.cloud.running import RunningCloud
from tests.openstack.cloud.schemas import create_schemas
from tests.openstack.cloud.services import environment, infrastructure, openstack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.openstack.cloud.home import Home
    from tests.openstack.cloud.services import Service

_LOG = logging.getLogger(__name__)
# Nova stops slowly; killing it after this many seconds does no harm.
_STOP_WITHIN = 15.0


def start(home: Home, *, fresh: bool = False) -> RunningCloud:
    """Return a working cloud: the running one, or one started now. A fresh one has new data.

    Raises ServerMissingError when Debian's servers are not installed, and CloudError for any other failure.
    """
    find_servers()
    with state.only_one(home.root):
        processes = Processes(home.run, home.log)
        present = running(home)
        if present is not None and not fresh and present.site.venv == venv_path(home, "openstack"):
            _check(present)
            return present
        _stop(home, processes)
        with state.only_one(home.venvs):
            for name in VENVS:
                install(home, name)
        try:
            return _from_data(home, processes, fresh=fresh)
        except CloudError as error:
            # As an init system would: a service that dies while it starts says nothing about what is tested on it.
            _LOG.warning("The cloud did not start, and is started once more: %s", error)
            return _from_data(home, processes, fresh=fresh)


def _from_data(home: Home, processes: Processes, *, fresh: bool) -> RunningCloud:
    """Start a cloud on its data, or on new data if it is to be fresh, or has none."""
    if fresh or template.seeded_ports(home) is None:
        _make_data(home, processes)
    return _launch(home, processes)


def running(home: Home) -> RunningCloud | None:
    """Return the cloud if all of it runs."""
    started = state.read(home)
    if started is None:
        return None
    cloud = RunningCloud(Site(home, started.venv, started.ports), Processes(home.run, home.log))
    if not all(map(cloud.is_alive, cloud.services())):
        return None
    started.check_owner(home)
    return cloud


def stop(home: Home) -> None:
    """Stop what we have started, and nothing else."""
    with state.only_one(home.root):
        _stop(home, Processes(home.run, home.log))


@contextmanager
def having_cloud(number: int = 0) -> Iterator[RunningCloud]:
    """Yield our running cloud with this number, or else a fresh one, which is stopped at the end."""
    home = find_home(number)
    already = running(home)
    yield already or start(home, fresh=True)
    if already is None:
        stop(home)


def wipe(home: Home) -> None:
    """Stop it and remove its data, configuration and logs. What is installed stays, and so does the template."""
    stop(home)
    for folder in (home.data, home.etc, home.log, home.run):
        shutil.rmtree(folder, ignore_errors=True)


def _check(cloud: RunningCloud) -> None:
    """Wait until all services answer, and all parts of Nova have reported recently."""
    wait_until_ready([*infrastructure(cloud.site), *openstack(cloud.site)], cloud.processes)
    recently = datetime.now(UTC) - timedelta(seconds=DOWN_AFTER)
    wait_until_nova_works(cloud.connection(), recently, cloud.processes)


def _stop(home: Home, processes: Processes) -> None:
    """Stop OpenStack first, and then the servers that it writes to."""
    started = state.read(home)
    if started is not None and any(processes.pid(name) is not None for name in processes.known()):
        started.check_owner(home)
    last = ("mariadb", "rabbitmq", "epmd", "memcached")
    processes.stop([name for name in processes.known() if name not in last], _STOP_WITHIN)
    processes.stop([name for name in last[:2] if name in processes.known()], _STOP_WITHIN)
    processes.stop(processes.known(), _STOP_WITHIN)


def _make_data(home: Home, processes: Processes) -> None:
    """Create a data directory with the seeded contents only, from the template, which is created first if necessary."""
    shutil.rmtree(home.log, ignore_errors=True)
    if template.restore(home):
        return
    _LOG.info("Making the databases. This happens once for each set of versions.")
    _launch(home, processes)
    _stop(home, processes)
    template.save(home)


def _launch(home: Home, processes: Processes) -> RunningCloud:
    since = datetime.now(UTC).replace(microsecond=0)
    before = state.read(home)
    chosen = ports.choose(before.ports if before is not None else {})
    site = Site(home, venv_path(home, "openstack"), chosen)
    state.write(home, site.venv, chosen)
    # Nothing waits for messages that the broker has kept from another run.
    shutil.rmtree(home.data / "rabbitmq", ignore_errors=True)
    for folder in (home.data / "rabbitmq", home.log, home.run):
        folder.mkdir(parents=True, exist_ok=True)
    write_all(site)
    is_new = not (home.data / "mariadb").exists()
    if is_new:
        databases.create_files(home)
    try:
        _start(site, infrastructure(site), processes)
        if is_new:
            databases.create_account(home)
            create_schemas(site)
        _start_openstack(site, processes, since)
    except CloudError:
        # A part of a cloud is of no use; the logs tell what failed.
        _stop(home, processes)
        raise
    return RunningCloud(site, processes)


def _start_openstack(site: Site, processes: Processes, since: datetime) -> None:
    services = openstack(site)
    is_seeded = template.seeded_ports(site.home) == site.ports
    if not is_seeded:
        # Services cache the catalogue, so it must be correct before any of them starts.
        _start(site, [service for service in services if service.name == "keystone"], processes)
        seed_accounts(connect(site.auth_url), site)
    _start(site, services, processes)
    admin = connect(site.auth_url)
    if not is_seeded:
        seed_contents(admin, site.auth_url)
        template.mark_seeded(site.home, site.ports)
    wait_until_nova_works(admin, since, processes)


def _start(site: Site, services: Iterable[Service], processes: Processes) -> None:
    services = list(services)
    for service in services:
        processes.start(service.name, service.command, {**environment(site), **service.extra_environment})
    wait_until_ready(services, processes)
