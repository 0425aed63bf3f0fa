"""Sets up logging with oslo.log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oslo_log import log

if TYPE_CHECKING:
    from oslo_config import cfg

QUIET = (
    "alembic=WARN",
    "sqlalchemy=WARN",
    "stevedore=INFO",
    "oslo_policy=INFO",
    "keystonemiddleware=WARN",
    "urllib3=INFO",
)
"""Log levels of libraries that would flood the log at debug level."""


def register(conf: cfg.ConfigOpts) -> None:
    """Add oslo.log's options, `--debug` and `--log-file` among them, to `conf`."""
    log.register_options(conf)
    log.set_defaults(default_log_levels=list(QUIET))


def set_up(conf: cfg.ConfigOpts) -> None:
    """Send this process's log to the destination in `conf`; every line of a request carries the request id."""
    log.setup(conf, "leasehold")
