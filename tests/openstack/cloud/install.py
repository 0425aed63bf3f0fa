"""Installs the cloud: finds Debian's servers, and installs OpenStack into virtual environments named by contents."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.openstack.cloud import dashboard
from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.home import CHECKOUT, FILTER, PLUGINS, REQUIREMENTS, Home
from tests.servers import ServerMissingError, find_program

if TYPE_CHECKING:
    from pathlib import Path

_LOG = logging.getLogger(__name__)

VENVS = ("openstack", "tempest", "blazar", "dashboard")

# Debian's start script of RabbitMQ requires the system's user and folders; this is the script that it calls.
RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"
_PROGRAMS = {
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core mariadb-client-core",
    "memcached": "memcached",
    "epmd": "rabbitmq-server",
    RABBITMQ: "rabbitmq-server",
}
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_DONE = "leasehold-installed"
_FROM = "leasehold-plugins-from"


def find_servers() -> dict[str, str]:
    """Return the paths of the programs; raises ServerMissingError with the packages to install."""
    found = {name: find_program(name) for name in _PROGRAMS}
    missing = sorted({_PROGRAMS[name] for name, path in found.items() if path is None})
    if missing:
        raise ServerMissingError(
            f"The OpenStack of the tests needs servers that are missing; on Debian: apt-get install {' '.join(missing)}"
        )
    return {name: path for name, path in found.items() if path is not None}


def requirements_checksum(name: str) -> str:
    """Return a checksum of the pinned requirements and the Python version."""
    lines = (REQUIREMENTS / f"{name}.txt").read_text().splitlines()
    pins = [line for line in lines if not line.lstrip().startswith("#")]
    return hashlib.sha256("\n".join([*pins, _PYTHON]).encode()).hexdigest()[:12]


def venv_path(home: Home, name: str) -> Path:
    """Return the path of an environment; other requirements have another path."""
    return home.venvs / f"{name}-{requirements_checksum(name)}"


def install(home: Home, name: str) -> Path:
    """Return an environment with these requirements; creates it if this machine has none yet."""
    venv = venv_path(home, name)
    if not (venv / _DONE).exists():
        _LOG.info("Installing %s. This happens once on a machine.", name)
        uv = _find_uv()
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(venv))
        # Compile now; otherwise every service would compile the same files at its first start.
        _pip_install(uv, venv, "--compile-bytecode", "--require-hashes", "-r", str(REQUIREMENTS / f"{name}.txt"))
        (venv / _DONE).touch()
        _remove_others(venv, name)
    if name == "openstack":
        _plug_in(venv)
    elif name == "dashboard":
        dashboard.set_up(venv, _site_packages(venv), _run)
    return venv


def _remove_others(venv: Path, name: str) -> None:
    """Remove the environments of older requirements."""
    for other in venv.parent.glob(f"{name}-*"):
        if other != venv:
            shutil.rmtree(other)


def _plug_in(venv: Path) -> None:
    """Install this checkout's additions to Nova and Neutron: the filter, and drivers that replace hardware."""
    # Nova loads compute drivers only from this package of its own.
    driver = _site_packages(venv) / "nova" / "virt" / "leasehold_cloud.py"
    shutil.copyfile(PLUGINS / "src" / "leasehold_cloud_plugins" / "compute.py", driver)
    projects = (FILTER, PLUGINS)
    wanted = "\n".join(f"{project} {(project / 'pyproject.toml').read_text()}" for project in projects)
    stamp = venv / _FROM
    if not stamp.exists() or stamp.read_text() != wanted:
        editable = [argument for project in projects for argument in ("--editable", str(project))]
        _pip_install(_find_uv(), venv, "--no-deps", "--no-build-isolation", *editable)
        stamp.write_text(wanted)


def _site_packages(venv: Path) -> Path:
    return venv / "lib" / f"python{_PYTHON}" / "site-packages"


def _find_uv() -> str:
    uv = CHECKOUT / ".venv" / "bin" / "uv"
    if not uv.exists():
        raise CloudError(f"{uv} is missing. Run `tools/bootstrap test` in this checkout first.")
    return str(uv)


def _pip_install(uv: str, venv: Path, *arguments: str) -> None:
    _run(uv, "pip", "install", "--quiet", "--python", str(venv / "bin" / "python"), *arguments)


def _run(*command: str) -> None:
    # As in tools/bootstrap: trust the system's certificates, and ignore an active environment.
    environment = {**os.environ, "UV_SYSTEM_CERTS": "true", "UV_HTTP_TIMEOUT": "300"}
    environment.pop("VIRTUAL_ENV", None)
    result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if result.returncode != 0:
        raise CloudError(f"`{' '.join(command)}` failed:\n{result.stderr.decode(errors='replace')}")
