"""Finds the database of an operator's command, and explains to the operator why it cannot be used."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import ArgumentError, DBAPIError

from leasehold import conf
from leasehold.cmd.state import state_database
from leasehold.db.engine import open_engine
from leasehold.db.schema import SchemaError
from leasehold.features import registry

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from sqlalchemy import Engine

URL_VARIABLE = "LEASEHOLD_DATABASE_URL"
FORMS = (
    "sqlite:////path/to/file, mysql+pymysql://user:password@host/name or postgresql+psycopg://user:password@host/name"
)


class OperatorError(Exception):
    """A command cannot do what it was asked; the message says why and what to do."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options that say where the database is."""
    parser.add_argument(
        "--database-url",
        metavar="URL",
        help=f"default: {URL_VARIABLE}, the configuration's, or what leasehold-standalone made here",
    )
    parser.add_argument("--config-file", metavar="FILE", help="default: ./leasehold.conf, else /etc/leasehold")


def load_config(args: Namespace, engine: Engine | None = None) -> conf.Config:
    """Return the configuration that the options name; raises ConfigurationError with a sentence.

    For the database of `leasehold-standalone` the default cloud is the sandbox.
    """
    standalone = engine is not None and engine.url.database == str(state_database())
    defaults = {("cloud", "driver"): "sandbox"} if standalone else None
    files = ["--config-file", args.config_file] if args.config_file else []
    return registry.load(files, prog=args.prog, defaults=defaults)


def database_url(args: Namespace) -> str:
    """Return the URL from the option, the environment or the configuration, in this order.

    If none of them names a database, return the one that `leasehold-standalone` has made here, if there is one.
    """
    named: str | None = args.database_url or os.environ.get(URL_VARIABLE)
    if named:
        return named
    config = load_config(args)
    where = config.raw.get_location("connection", "database")
    if not (where and where.location.is_user_controlled) and state_database().exists():
        return f"sqlite:///{state_database()}"
    return config.database_url


def open_database(url: str, *, make: bool = False) -> Engine:
    """Return an engine for the URL; raises OperatorError for an invalid URL.

    Opening an SQLite file creates it, so a missing file is refused unless `make` is set.
    """
    try:
        engine = open_engine(url)
    except (ArgumentError, ImportError, ValueError):
        # The URL is not repeated, because an invalid one may have the password anywhere.
        raise OperatorError(f"The database URL cannot be used. Write it as {FORMS}.") from None
    file = engine.url.database
    if engine.dialect.name == "sqlite" and file and not make and not os.path.exists(file):  # noqa: PTH110 - as SQLite sees it.
        raise OperatorError(f"There is no database {file}: name another, or make it with leasehold-manage db upgrade.")
    return engine


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn errors that an operator can repair into OperatorError; other errors are bugs and stay as they are."""
    try:
        with reachable(url):
            yield
    except (SchemaError, conf.ConfigurationError) as error:
        raise OperatorError(str(error)) from None


@contextmanager
def reachable(url: str) -> Iterator[None]:
    """Turn errors of the database driver into an OperatorError that names the URL without its password."""
    try:
        yield
    except DBAPIError as error:
        raise OperatorError(
            f"The database {hidden(url)} cannot be used: {_first_line(error)}. "
            "Check that it runs, and the URL's host, name, user and password."
        ) from None


def hidden(url: str) -> str:
    """Return a valid URL with stars for its password and without options."""
    from sqlalchemy import make_url  # noqa: PLC0415

    return make_url(url).set(query={}).render_as_string(hide_password=True)


def _first_line(error: DBAPIError) -> str:
    original = error.orig
    # MariaDB's errors are a number and a text; those of the other databases are a text, sometimes of many lines.
    said = original.args[-1] if original is not None and original.args else error
    return str(said).strip().splitlines()[0].rstrip(".")
