"""Which database a command of the operator is about, and what to say when it cannot be used."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import ArgumentError, DBAPIError

from leasehold import conf
from leasehold.cmd.state import state_database
from leasehold.db.engine import open_engine
from leasehold.db.schema import SchemaError

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


def load_config(args: Namespace) -> conf.Config:
    """Return the configuration that the options name; raises ConfigurationError with a sentence."""
    return conf.load(["--config-file", args.config_file] if args.config_file else [], prog=args.prog)


def database_url(args: Namespace) -> str:
    """Return the URL from the option, the environment or the configuration, in this order.

    Where none of them names a database, the one that `leasehold-standalone` has made here is meant.
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
    """Return an engine for the URL; raises OperatorError for one that nothing can be opened with.

    Opening an SQLite file makes it, so one that is missing is refused unless the caller wants to `make` it.
    """
    try:
        engine = open_engine(url)
    except (ArgumentError, ImportError, ValueError):
        # The URL is not repeated: what cannot be read as one may have the password anywhere.
        raise OperatorError(f"The database URL cannot be used. Write it as {FORMS}.") from None
    file = engine.url.database
    if engine.dialect.name == "sqlite" and file and not make and not os.path.exists(file):  # noqa: PTH110 - as SQLite sees it.
        raise OperatorError(f"There is no database {file}: name another, or make it with leasehold-manage db upgrade.")
    return engine


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn what an operator can mend into an OperatorError; anything else is a bug and stays what it is."""
    try:
        with reachable(url):
            yield
    except (SchemaError, conf.ConfigurationError) as error:
        raise OperatorError(str(error)) from None


@contextmanager
def reachable(url: str) -> Iterator[None]:
    """Turn a database that cannot be asked into an OperatorError, which says where it should be and not with what."""
    try:
        yield
    except DBAPIError as error:
        raise OperatorError(
            f"The database {hidden(url)} cannot be used: {_first_line(error)}. "
            "Check that it runs, and the URL's host, name, user and password."
        ) from None


def hidden(url: str) -> str:
    """Return the URL, which has been opened before, with stars for its password and without options."""
    from sqlalchemy import make_url  # noqa: PLC0415

    return make_url(url).set(query={}).render_as_string(hide_password=True)


def _first_line(error: DBAPIError) -> str:
    original = error.orig
    # MariaDB's errors are a number and a text; the others are a text, of many lines sometimes.
    said = original.args[-1] if original is not None and original.args else error
    return str(said).strip().splitlines()[0].rstrip(".")
