"""Databases for tests: the kinds to run on, a database for one test, and one of each kind for the whole run."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import TYPE_CHECKING, Protocol

import pytest

from leasehold.db.engine import open_engine
from tests.servers import KINDS, SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine

ON_SERVERS = [pytest.param(kind, marks=pytest.mark.servers) for kind in SERVERS]
ON_EACH = [*(kind for kind in KINDS if kind not in SERVERS), *ON_SERVERS]
"""The kinds of databases as parameters of a test or fixture."""


class Databases(Protocol):
    """Creates and drops databases on the run's servers. A test that kills its server starts a server of its own."""

    def create(self, kind: str) -> str: ...

    def drop(self, kind: str, url: str) -> None: ...


@contextlib.contextmanager
def database(databases: Databases, kind: str, folder: Path, name: str = "leasehold") -> Iterator[str]:
    """Yield the URL of an empty database: a file in the folder on SQLite, otherwise a new database on the server."""
    if kind not in SERVERS:
        yield f"sqlite:///{folder}/{name}.db"
        return
    url = databases.create(kind)
    try:
        yield url
    finally:
        databases.drop(kind, url)


@contextlib.contextmanager
def kept_databases(
    databases: Databases, folder: Path, prepare: Callable[[Engine], object]
) -> Iterator[Callable[[str], Engine]]:
    """Yield a function that returns one database of each kind, prepared at its first use and dropped after the block.

    A test that shares such a database is quicker: to create the tables on a server takes longer than most tests do.
    """
    with contextlib.ExitStack() as stack:

        @cache
        def of_kind(kind: str) -> Engine:
            engine = stack.enter_context(opened(stack.enter_context(database(databases, kind, folder))))
            prepare(engine)
            return engine

        yield of_kind


@contextlib.contextmanager
def opened(url: str, *, pool_size: int = 20) -> Iterator[Engine]:
    """Yield an engine on a database."""
    engine = open_engine(url, pool_size=pool_size)
    try:
        yield engine
    finally:
        engine.dispose()


@contextlib.contextmanager
def another(engine: Engine, *, pool_size: int = 20) -> Iterator[Engine]:
    """Yield a separate engine on the same database, as another process has."""
    with opened(engine.url.render_as_string(hide_password=False), pool_size=pool_size) as other:
        yield other
