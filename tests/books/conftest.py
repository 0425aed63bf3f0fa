"""A database whose schema is up to date, of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.books import schema
from leasehold.books.engine import open_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine


@pytest.fixture
def empty_engine(database_url: str) -> Iterator[Engine]:
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(empty_engine: Engine) -> Engine:
    schema.upgrade(empty_engine)
    return empty_engine
