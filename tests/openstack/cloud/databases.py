"""MariaDB: its files, its account, and the databases on it."""

from __future__ import annotations

import getpass
import re
import socket
import subprocess
from typing import TYPE_CHECKING

import pymysql

from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.home import PASSWORD
from tests.openstack.cloud.install import find_servers
from tests.openstack.cloud.layout import DATABASE_USER

if TYPE_CHECKING:
    from tests.openstack.cloud.home import Home

NAMES = ("keystone", "placement", "glance", "nova_api", "nova", "nova_cell0", "neutron")


def create_files(home: Home) -> None:
    """Create the files of an empty server."""
    command = [
        find_servers()["mariadb-install-db"],
        "--no-defaults",
        f"--user={getpass.getuser()}",
        f"--datadir={home.data / 'mariadb'}",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if result.returncode != 0:
        raise CloudError(f"MariaDB cannot make its files:\n{result.stderr.decode(errors='replace')}")


def answers(home: Home) -> bool:
    """Return whether MariaDB answers on the socket in our own folder; another program may have taken its port."""
    # PyMySQL does not close a socket that fails to connect, and an unclosed socket is an error in the tests.
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(home.socket)) != 0:
            return False
    try:
        execute(home, "SELECT 1")
    except (pymysql.Error, OSError):
        return False
    return True


def create_account(home: Home) -> None:
    """Create the account of all services, and their databases."""
    execute(
        home,
        f"CREATE USER IF NOT EXISTS {DATABASE_USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
        f"GRANT ALL ON *.* TO {DATABASE_USER}@'127.0.0.1'",
        *(f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb3" for name in NAMES),
    )


def create_empty(home: Home, name: str) -> None:
    """Create an empty database; replaces an existing one of that name."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in NAMES:
        raise CloudError(f"{name!r} is not a valid name, or is that of a service's database; choose another.")
    execute(home, f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name} CHARACTER SET utf8mb4")


def execute(home: Home, *statements: str) -> None:
    connection = pymysql.connect(unix_socket=str(home.socket), user="root", connect_timeout=10)
    with connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
