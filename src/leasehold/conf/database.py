"""The options of the database: `[database] connection`, an SQLAlchemy URL as in every OpenStack service, and limits."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.options import read_fields, take_defaults

DATABASE_OPTIONS = [
    cfg.StrOpt(
        "connection",
        default="sqlite:////var/lib/leasehold/leasehold.sqlite",
        secret=True,
        help="SQLAlchemy URL of the database: sqlite, mysql+pymysql or postgresql+psycopg.",
    ),
    cfg.IntOpt(
        "connect_timeout",
        min=1,
        help="Seconds after which an attempt to connect to the server fails. A value in the URL takes precedence.",
    ),
    cfg.IntOpt(
        "read_timeout",
        min=1,
        help="Seconds of silence after which a connection counts as lost. On MariaDB and MySQL a server that waits for "
        "a lock is silent, too, so set more than its innodb_lock_wait_timeout. On PostgreSQL only silence of the "
        "network counts, for instance of a machine without power.",
    ),
    cfg.FloatOpt(
        "retry_seconds",
        min=0.0,
        help="Seconds for which a transaction that lost a race, or its connection before the commit, is retried.",
    ),
    cfg.FloatOpt(
        "clock_jump_seconds",
        min=10.0,
        help="Largest jump of the database's clock, ahead or back, in seconds, that the processes follow. They ignore "
        "a larger one until the clock is back or until leasehold-manage clock accept, so that no lease ends early. "
        "Set the same value for all processes.",
    ),
    cfg.IntOpt(
        "mysql_wsrep_sync_wait",
        default=1,
        min=0,
        max=15,
        help="Value of wsrep_sync_wait on connections to a node of a Galera cluster. With 1 a transaction first waits "
        "until its node has applied the commits of the other nodes; with 0 it may read slightly old data.",
    ),
]


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """Timeouts and limits of the database; `read_timeout` None means no timeout."""

    connect_timeout: int = 5
    read_timeout: int | None = 60
    retry_seconds: float = 30.0
    wsrep_sync_wait: int = 1
    clock_jump_seconds: float = 300.0


take_defaults(DATABASE_OPTIONS, DatabaseSettings())

PATIENT = DatabaseSettings(read_timeout=None)
"""For the operator's tools: a migration has no time limit."""


IMPATIENT = DatabaseSettings(connect_timeout=2, read_timeout=2)
"""For queries that can be repeated later."""


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(DATABASE_OPTIONS, group="database")


def read(conf: cfg.ConfigOpts) -> str:
    """Return the URL, which may hold a password. Raises `ConfigurationError`, without the text, if it is not a URL."""
    url = str(conf.database.connection)
    if not _is_url(url):
        message = (
            "[database] connection is not a database URL. Write it as sqlite:////path/to/file, "
            "mysql+pymysql://user:password@host/name or postgresql+psycopg://user:password@host/name, "
            "and the characters @ : / % in a password as %40 %3A %2F %25."
        )
        raise ConfigurationError(message)
    return url


def _is_url(text: str) -> bool:
    """Say whether SQLAlchemy finds a driver for it. An @ in the host is part of a password, which errors would show."""
    from sqlalchemy import make_url  # noqa: PLC0415 - half of the time to start; only this function needs it.
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        url = make_url(text)
        url.get_dialect()
    except (ArgumentError, ValueError):
        return False
    return "@" not in (url.host or "")


def read_settings(conf: cfg.ConfigOpts) -> DatabaseSettings:
    """Return the timeouts and limits."""
    return read_fields(DatabaseSettings, conf.database, wsrep_sync_wait=conf.database.mysql_wsrep_sync_wait)
