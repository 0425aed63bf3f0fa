"""The migrations and the tables in the code say the same, on every database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select

from leasehold.books import schema
from leasehold.books.engine import open_engine, reading
from leasehold.books.tables import metadata, pools

if TYPE_CHECKING:
    from sqlalchemy import Engine


def test_migrations_make_the_tables_of_the_code(engine: Engine) -> None:
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_migrations_make_the_pools(engine: Engine) -> None:
    with reading(engine) as connection:
        assert set(connection.scalars(select(pools.c.name))) == {"floatingips", "hosts"}


def test_upgrading_again_changes_nothing(engine: Engine) -> None:
    schema.upgrade(engine)
    assert schema.current(engine) == schema.head()
    schema.check(engine)


def test_a_database_without_tables_is_refused_with_the_command_to_run(empty_engine: Engine) -> None:
    with pytest.raises(schema.SchemaError, match="leasehold-manage db upgrade"):
        schema.check(empty_engine)


def test_downgrading_to_base_leaves_nothing_but_the_version_table(engine: Engine) -> None:
    schema.downgrade(engine, "base")
    assert inspect(engine).get_table_names() == ["alembic_version"]


def test_several_processes_may_upgrade_at_once(empty_engine: Engine, database_url: str) -> None:
    engines = [open_engine(database_url) for _ in range(4)]
    with ThreadPoolExecutor(len(engines)) as pool:
        list(pool.map(schema.upgrade, engines))
    for each in engines:
        each.dispose()
    schema.check(empty_engine)
