"""A single MariaDB server."""

from __future__ import annotations

import signal
import socket
from typing import ClassVar

import pymysql

from tests.servers.base import Server


class MariaDB(Server):
    kind = "mariadb"
    package = "mariadb-server-core mariadb-client-core"
    # mariadb-install-db calls my_print_defaults.
    programs: ClassVar[tuple[str, ...]] = ("mariadbd", "mariadb-install-db", "my_print_defaults")
    # The package without the system service creates no user of its own.
    users = ("mysql", "nobody")
    stop_signal = signal.SIGKILL

    def _initialise_command(self) -> list[str]:
        return [
            self._paths["mariadb-install-db"],
            "--no-defaults",
            f"--datadir={self.data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--innodb-log-file-size=32M",
        ]

    def _run_command(self) -> list[str]:
        return [
            self._paths["mariadbd"],
            "--no-defaults",
            f"--datadir={self.data}",
            f"--tmpdir={self.folder}",
            f"--socket={self.folder / 'socket'}",
            f"--pid-file={self.folder / 'pid'}",
            "--skip-networking=0",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--skip-name-resolve",
            "--skip-log-bin",
            "--character-set-server=utf8mb4",
            # As for PostgreSQL.
            "--max-connections=600",
            # Durable as in production, or the crash tests would prove nothing; small, or they would be slow.
            "--innodb-flush-log-at-trx-commit=1",
            f"--innodb-buffer-pool-size={self.cache_mb}M",
            "--innodb-log-file-size=32M",
        ]

    def _connect(self) -> pymysql.Connection[pymysql.cursors.Cursor]:
        return pymysql.connect(unix_socket=str(self.folder / "socket"), user="root", connect_timeout=10)

    def _ping(self) -> None:
        # PyMySQL leaks its socket when no server answers yet, and pytest reports that as an error of the test.
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(self.folder / "socket"))
        self._connect().close()

    def _execute(self, statement: str) -> None:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)

    def _drop(self, database: str) -> str:
        return f"DROP DATABASE {database}"

    def _url(self, database: str) -> str:
        return f"mysql+pymysql://root@127.0.0.1:{self.port}/{database}?charset=utf8mb4"
