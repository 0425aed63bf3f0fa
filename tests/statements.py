"""SQL that is compiled once per process: every test has an engine of its own, which would compile all of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Dialect, Engine

_COMPILED: dict[Any, Any] = {}
_DIALECTS: dict[str, Dialect] = {}


def share_statements(engine: Engine) -> None:
    """Let an SQLite engine use what others have compiled. SQL belongs to the dialect it is compiled for: they share it.

    A dialect learns from its first connection what the database can do, so that is made here. The databases of servers
    differ in that, and there the statements cost less than the database itself.
    """
    if engine.dialect.name != "sqlite":
        return
    engine.connect().close()
    engine.dialect = _DIALECTS.setdefault("sqlite", engine.dialect)
    engine.update_execution_options(compiled_cache=_COMPILED)
