"""Databases whose schema is up to date, of each kind.

Most tests use `engine`: tables that are empty except for the pools. All tests share one such database of each kind,
because creating the tables on a server takes longer than most tests do. `migrated` and `empty_engine` are a database
for a single test.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, update

from leasehold.db import schema
from leasehold.db.engine import open_engine, writing
from leasehold.db.store import Database
from leasehold.db.tables import metadata, pools, schema_compatibility
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL
from tests.servers import KINDS, SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from tests.conftest import Databases


@pytest.fixture
def empty_engine(database_url: str) -> Iterator[Engine]:
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def migrated(empty_engine: Engine) -> Engine:
    schema.upgrade(empty_engine)
    return empty_engine


class KeptDatabases:
    """One database of each kind, created on first use and kept for the whole run."""

    def __init__(self, databases: Databases, folder: Path) -> None:
        self._databases = databases
        self._folder = folder
        self._urls: dict[str, str] = {}

    def url(self, kind: str) -> str:
        if kind not in self._urls:
            url = f"sqlite:///{self._folder}/books.db" if kind == "sqlite" else self._databases.create(kind)
            engine = open_engine(url)
            schema.upgrade(engine)
            engine.dispose()
            self._urls[kind] = url
        return self._urls[kind]

    def drop(self) -> None:
        for kind, url in self._urls.items():
            if kind in SERVERS:
                self._databases.drop(kind, url)


@pytest.fixture(scope="session")
def kept_databases(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptDatabases]:
    kept = KeptDatabases(databases, tmp_path_factory.mktemp("books"))
    yield kept
    kept.drop()


@pytest.fixture(
    params=[kind if kind not in SERVERS else pytest.param(kind, marks=pytest.mark.servers) for kind in KINDS]
)
def engine(request: pytest.FixtureRequest, kept_databases: KeptDatabases) -> Iterator[Engine]:
    with emptied(kept_databases.url(request.param)) as made:
        yield made


@pytest.fixture
def db(engine: Engine) -> Database:
    return Database(engine)


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.servers) for kind in SERVERS])
def server(request: pytest.FixtureRequest, kept_databases: KeptDatabases) -> Iterator[Database]:
    """Yield an empty database on a database server, for tests that SQLite cannot run."""
    with emptied(kept_databases.url(request.param)) as made:
        yield Database(made)


@contextmanager
def emptied(url: str) -> Iterator[Engine]:
    """Yield an engine on a database that contains only the pools, at generation 0."""
    engine = open_engine(url)
    with writing(engine) as connection:
        for table in reversed(metadata.sorted_tables):
            if table not in (pools, schema_compatibility):
                connection.execute(delete(table))
        connection.execute(delete(pools).where(pools.c.name.not_in({HOST_POOL, FLOATING_IP_POOL})))
        connection.execute(update(pools).values(generation=0, nonces="0:first-nonce"))
    yield engine
    engine.dispose()
