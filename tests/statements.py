"""Shares compiled SQL within the process: every test has its own engine, which would compile all of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Dialect, Engine

_COMPILED: dict[Any, Any] = {}
_DIALECTS: dict[str, Dialect] = {}


def share_statements(engine: Engine) -> None:
    """Let all SQLite engines share one cache of compiled SQL; they share a dialect too, as it is part of the cache key.

    A dialect detects the features of the database at its first connection, so connect here first. Database servers are
    left out: their features differ, and compiling costs less there than creating the database.
    """
    if engine.dialect.name != "sqlite":
        return
    engine.connect().close()
    engine.dialect = _DIALECTS.setdefault("sqlite", engine.dialect)
    engine.update_execution_options(compiled_cache=_COMPILED)
