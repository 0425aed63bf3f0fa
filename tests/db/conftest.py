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
from leasehold.db.engine import writing
from leasehold.db.store import Database
from leasehold.db.tables import event_log, pools, schema_compatibility, secret_keys
from leasehold.features.registry import all_tables
from leasehold.model.event_log import NO_NONCE
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL
from tests.databases import ON_EACH, ON_SERVERS, Databases, another, kept_databases, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine


@pytest.fixture
def empty_engine(database_url: str) -> Iterator[Engine]:
    with opened(database_url) as engine:
        yield engine


@pytest.fixture
def migrated(empty_engine: Engine) -> Engine:
    schema.upgrade(empty_engine)
    return empty_engine


@pytest.fixture(scope="session")
def kept(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Engine]]:
    with kept_databases(databases, tmp_path_factory.mktemp("books"), schema.upgrade) as of_kind:
        yield of_kind


@pytest.fixture(params=ON_EACH)
def engine(request: pytest.FixtureRequest, kept: Callable[[str], Engine]) -> Iterator[Engine]:
    with emptied(kept(request.param)) as made:
        yield made


@pytest.fixture
def db(engine: Engine) -> Database:
    return Database(engine)


@pytest.fixture(params=ON_SERVERS)
def server(request: pytest.FixtureRequest, kept: Callable[[str], Engine]) -> Iterator[Database]:
    """Yield an empty database on a database server, for tests that SQLite cannot run."""
    with emptied(kept(request.param)) as made:
        yield Database(made)


@contextmanager
def emptied(engine: Engine) -> Iterator[Engine]:
    """Yield another engine on a database that then contains only the pools, at generation 0."""
    with writing(engine) as connection:
        for table in reversed(all_tables().sorted_tables):
            if table not in (pools, schema_compatibility, event_log, secret_keys):
                connection.execute(delete(table))
        connection.execute(update(event_log).values(last=0, nonce=NO_NONCE, purged=0))
        connection.execute(delete(pools).where(pools.c.name.not_in({HOST_POOL, FLOATING_IP_POOL})))
        connection.execute(update(pools).values(generation=0, nonces="0:first-nonce", waiting=None))
    with another(engine) as made:
        yield made
