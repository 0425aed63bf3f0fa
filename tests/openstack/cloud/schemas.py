"""Fills an empty MariaDB with each service's own commands; the slow part of a cloud's first start."""

from __future__ import annotations

import getpass
import grp
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.home import PASSWORD, REGION
from tests.openstack.cloud.services import environment

if TYPE_CHECKING:
    from tests.openstack.cloud.layout import Site

# Nova completes these from its own configuration, so that the stored URLs stay valid when ports change.
_BROKER = "{scheme}://{username}:{password}@{hostname}:{port}/"
_DATABASE = "{scheme}://{username}:{password}@{hostname}:{port}/%s?{query}"


def create_schemas(site: Site) -> None:
    """Create all tables, and the rows that a service needs before it can start."""
    with ThreadPoolExecutor() as pool:
        # list, because reading a result raises its error.
        list(pool.map(lambda fill: fill(site), (_neutron, _nova, _others)))


def _neutron(site: Site) -> None:
    folder = site.home.etc / "neutron"
    files = ("--config-file", str(folder / "neutron.conf"), "--config-file", str(folder / "ml2_conf.ini"))
    _run(site, "neutron-db-manage", *files, "upgrade", "heads")


def _nova(site: Site) -> None:
    file = ("--config-file", str(site.home.etc / "nova" / "nova.conf"))
    _run(site, "nova-manage", *file, "api_db", "sync")
    _run(site, "nova-manage", *file, "cell_v2", "map_cell0", "--database_connection", _DATABASE % "nova_cell0")
    cell = ("--name", "cell1", "--transport-url", _BROKER, "--database_connection", _DATABASE % "nova")
    _run(site, "nova-manage", *file, "cell_v2", "create_cell", *cell)
    _run(site, "nova-manage", *file, "db", "sync")


def _others(site: Site) -> None:
    etc = site.home.etc
    _keystone(site)
    _run(site, "placement-manage", "--config-file", str(etc / "placement" / "placement.conf"), "db", "sync")
    _run(site, "glance-manage", "--config-file", str(etc / "glance" / "glance-api.conf"), "db_sync")


def _keystone(site: Site) -> None:
    file = ("--config-file", str(site.home.etc / "keystone" / "keystone.conf"))
    owner = ("--keystone-user", getpass.getuser(), "--keystone-group", grp.getgrgid(os.getgid()).gr_name)
    _run(site, "keystone-manage", *file, "db_sync")
    _run(site, "keystone-manage", *file, "fernet_setup", *owner)
    _run(site, "keystone-manage", *file, "credential_setup", *owner)
    addresses = (f"--bootstrap-{kind}-url={site.auth_url}" for kind in ("admin", "internal", "public"))
    account = (f"--bootstrap-password={PASSWORD}", f"--bootstrap-region-id={REGION}")
    _run(site, "keystone-manage", *file, "bootstrap", *account, *addresses)


def _run(site: Site, program: str, *arguments: str) -> None:
    command = [site.program(program), *arguments]
    with (site.home.log / "schemas.log").open("ab") as log:
        result = subprocess.run(
            command,
            env=environment(site),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=site.home.data,
            check=False,
        )
    if result.returncode != 0:
        raise CloudError(f"`{program} {arguments[-1]}` failed with {result.returncode}; see {log.name}")
