"""The options of the database: `[database] connection`, an SQLAlchemy URL as in every OpenStack service, and limits."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError

DATABASE_OPTIONS = [
    cfg.StrOpt(
        "connection",
        default="sqlite:////var/lib/leasehold/leasehold.sqlite",
        secret=True,
        help="SQLAlchemy URL of the database: sqlite, mysql+pymysql or postgresql+psycopg.",
    ),
    cfg.IntOpt(
        "connect_timeout",
        default=5,
        min=1,
        help="Seconds after which an attempt to connect to a server is given up. What the URL itself says is stronger.",
    ),
    cfg.IntOpt(
        "read_timeout",
        default=60,
        min=1,
        help="Seconds of silence after which a connection counts as lost. On MariaDB and MySQL this is silence of any "
        "kind, so it has to be longer than the server's innodb_lock_wait_timeout; on PostgreSQL it is that of the "
        "network, for instance of a machine without power.",
    ),
    cfg.FloatOpt(
        "retry_seconds",
        default=30.0,
        min=0.0,
        help="Seconds for which a change that lost a race, or whose connection broke before its commit, is made again.",
    ),
    cfg.FloatOpt(
        "clock_jump_seconds",
        default=300.0,
        min=10.0,
        help="A database clock that moves by more seconds than this, ahead or back, is not followed until it is back "
        "or until leasehold-manage clock accept, so that no lease ends early. The same value for all processes.",
    ),
    cfg.IntOpt(
        "mysql_wsrep_sync_wait",
        default=1,
        min=0,
        max=15,
        help="What connections to a node of a Galera cluster set wsrep_sync_wait to. With 1 a transaction first waits "
        "until its node has what was committed on the others; 0 lets it read what may be a moment old.",
    ),
]


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """How long to wait for the database, and for what; `read_timeout` None waits for ever."""

    connect_timeout: int = 5
    read_timeout: int | None = 60
    retry_seconds: float = 30.0
    wsrep_sync_wait: int = 1
    clock_jump_seconds: float = 300.0


PATIENT = DatabaseSettings(read_timeout=None)
"""For the operator's tools: a migration takes as long as it takes."""


IMPATIENT = DatabaseSettings(connect_timeout=2, read_timeout=2)
"""For what can be asked again later."""


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(DATABASE_OPTIONS, group="database")


def read(conf: cfg.ConfigOpts) -> str:
    """Return the URL, which may hold a password; raises `ConfigurationError`, without it, for what is no URL."""
    url = str(conf.database.connection)
    if not _is_url(url):
        message = (
            "[database] connection is not a database URL. Write it as sqlite:////path/to/file, "
            "mysql+pymysql://user:password@host/name or postgresql+psycopg://user:password@host/name, "
            "and in a password @ : / % as %40 %3A %2F %25."
        )
        raise ConfigurationError(message)
    return url


def _is_url(text: str) -> bool:
    """Say whether a driver can be found by it. An @ in the host is half a password, which errors would repeat."""
    from sqlalchemy import make_url  # noqa: PLC0415 - half of what it takes to start; nothing else here needs it.
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        url = make_url(text)
        url.get_dialect()
    except (ArgumentError, ValueError):
        return False
    return "@" not in (url.host or "")


def read_settings(conf: cfg.ConfigOpts) -> DatabaseSettings:
    """Return the limits."""
    return DatabaseSettings(
        connect_timeout=conf.database.connect_timeout,
        read_timeout=conf.database.read_timeout,
        retry_seconds=conf.database.retry_seconds,
        wsrep_sync_wait=conf.database.mysql_wsrep_sync_wait,
        clock_jump_seconds=conf.database.clock_jump_seconds,
    )
