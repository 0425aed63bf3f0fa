"""Database servers for tests and benchmarks: each runs on a free port in a temporary folder while its user needs it.

They use the programs of the installed servers, but never touch a system server. From outside pytest:

    with running_mariadb() as server:
        url = server.create_database()

or, for any kind, SQLite included:

    with new_database("postgresql") as url:
        ...
"""

from __future__ import annotations

import contextlib
import tempfile
from typing import TYPE_CHECKING

from tests.servers.base import Server, ServerFailedError, ServerMissingError, find_program
from tests.servers.mariadb import MariaDB
from tests.servers.ports import free_port
from tests.servers.postgresql import PostgreSQL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "KINDS",
    "SERVERS",
    "MariaDB",
    "PostgreSQL",
    "Server",
    "ServerFailedError",
    "ServerMissingError",
    "find_program",
    "free_port",
    "new_database",
    "running_mariadb",
    "running_postgresql",
    "server_of_kind",
]

KINDS = ("sqlite", "mariadb", "postgresql")
SERVERS = tuple(kind for kind in KINDS if kind != "sqlite")

# Aliases that read well at the call: `with running_mariadb() as server`.
running_mariadb = MariaDB
running_postgresql = PostgreSQL


def server_of_kind(kind: str, parent: Path | None = None, *, cache_mb: int = Server.cache_mb) -> Server:
    """Return a server to enter with `with`."""
    for choice in (MariaDB, PostgreSQL):
        if choice.kind == kind:
            server = choice(parent)
            server.cache_mb = cache_mb
            return server
    raise ValueError(f"there is no server of kind {kind!r}")


@contextlib.contextmanager
def new_database(kind: str, parent: Path | None = None, *, cache_mb: int = Server.cache_mb) -> Iterator[str]:
    """Yield the URL of an empty database on a server of its own; remove both afterwards."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="leasehold-sqlite-", dir=parent) as folder:
            yield f"sqlite:///{folder}/leasehold.db"
    else:
        with server_of_kind(kind, parent, cache_mb=cache_mb) as server:
            yield server.create_database()
