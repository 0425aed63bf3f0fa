"""Describes the machine of a run, without identifying it."""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path
from typing import Final

import psycopg
import pymysql

from tests.servers import ServerMissingError, running_mariadb, running_postgresql

MOST_LOAD: Final = 1.0
"""Above this load average a page is not written that compares us with others: the machine would not be ours."""


def describe() -> list[tuple[str, str]]:
    """Return the facts that matter for speed, each a name and a value."""
    memory_kib = int(_first("/proc/meminfo", "MemTotal").split()[0])
    return [
        ("CPU", f"{_first('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores"),
        ("Memory", f"{memory_kib / 1024**2:.0f} GiB"),
        ("System", f"{platform.system()} {platform.release().split('-')[0]}"),
        ("Python", platform.python_version()),
        ("SQLite", f"{sqlite3.sqlite_version}, WAL, synchronous NORMAL"),
        ("MariaDB", f"{_mariadb()}, every commit flushed"),
        ("PostgreSQL", _postgresql()),
    ]


def _first(path: str, key: str) -> str:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "unknown"


def _mariadb() -> str:
    try:
        with running_mariadb() as server:
            socket = str(server.folder / "socket")
            with pymysql.connect(unix_socket=socket, user="root") as connection, connection.cursor() as cursor:
                cursor.execute("SELECT VERSION()")
                return str((cursor.fetchone() or ["unknown"])[0])
    except ServerMissingError:
        return "not installed"


def _postgresql() -> str:
    try:
        with running_postgresql() as server:
            url = server.create_database().replace("+psycopg", "")
            with psycopg.connect(url) as connection:
                return str(connection.info.parameter_status("server_version"))
    except ServerMissingError:
        return "not installed"
