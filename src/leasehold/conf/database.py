"""The option of the books: `[database] connection`, an SQLAlchemy URL as in every OpenStack service."""

from __future__ import annotations

from oslo_config import cfg

DATABASE_OPTIONS = [
    cfg.StrOpt(
        "connection",
        default="sqlite:////var/lib/leasehold/leasehold.sqlite",
        secret=True,
        help="SQLAlchemy URL of the books: sqlite, mysql+pymysql or postgresql+psycopg.",
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(DATABASE_OPTIONS, group="database")


def read(conf: cfg.ConfigOpts) -> str:
    """Return the URL of the books; it may hold a password."""
    return str(conf.database.connection)
