"""A single PostgreSQL server."""

from __future__ import annotations

import signal
from typing import ClassVar

import psycopg

from tests.servers.base import Server


class PostgreSQL(Server):
    kind = "postgresql"
    package = "postgresql"
    programs: ClassVar[tuple[str, ...]] = ("initdb", "postgres")
    users = ("postgres", "nobody")
    # An immediate shutdown. SIGKILL of the first process would leave its child processes and shared memory behind.
    stop_signal = signal.SIGQUIT

    def _initialise_command(self) -> list[str]:
        return [
            self._paths["initdb"],
            f"--pgdata={self.data}",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]

    def _run_command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            # For two tests of 4 APIs and 2 managers, as `docs/operators/install.md` counts.
            "max_connections": 600,
            # Durable and small, as for MariaDB.
            "fsync": "on",
            "synchronous_commit": "on",
            "shared_buffers": f"{self.cache_mb}MB",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [self._paths["postgres"], "-D", str(self.data), *options]

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.folder),
            port=self.port,
            user="postgres",
            dbname="postgres",
            # CREATE and DROP DATABASE cannot run in a transaction.
            autocommit=True,
            connect_timeout=10,
        )

    def _ping(self) -> None:
        self._connect().close()

    def _execute(self, statement: str) -> None:
        with self._connect() as connection:
            connection.execute(statement.encode())

    def _drop(self, database: str) -> str:
        return f"DROP DATABASE {database} WITH (FORCE)"

    def _url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def setting(self, name: str) -> str:
        """Return the value of a server parameter."""
        with self._connect() as connection:
            found = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
        return str(found[0]) if found else ""
