"""What the port modules share: a database, a clock, the faults, and the settings row."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import bindparam, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from leasehold.cloud.sandbox import tables
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine

    from leasehold.cloud.sandbox.faults import Faults

STILL_THERE = or_(tables.servers.c.gone_at.is_(None), tables.servers.c.gone_at > bindparam("now"))
"""True for servers that exist at `now`: those whose removal has not come to its end yet."""

_SETTING = select(tables.state.c.value).where(tables.state.c.name == bindparam("setting"))
_LOCK = _SETTING.with_for_update()
_CHANGE = update(tables.state).where(tables.state.c.name == bindparam("setting")).values(value=bindparam("new_value"))


def utc_now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


class Port:
    """One group of verbs on the sandbox's database; each verb is one short transaction."""

    group: ClassVar[str]

    def __init__(self, engine: Engine, faults: Faults, *, clock: Callable[[], datetime] = utc_now) -> None:
        """Work on `engine`; `clock` returns aware UTC and decides when a server that is being deleted is gone."""
        self.engine = engine
        self.faults = faults
        self.clock = clock


def setting(connection: Connection, name: str, default: Any) -> Any:
    """Return a setting, or `default` when nobody set it."""
    value = connection.execute(_SETTING, {"setting": name}).scalar_one_or_none()
    return default if value is None else value


def change_setting(engine: Engine, name: str, value: Any) -> None:
    """Set a setting for every process that uses this sandbox."""
    _ensure_row(engine, name, value)
    with writing(engine) as connection:
        connection.execute(_CHANGE, {"setting": name, "new_value": value})


@contextmanager
def locked(engine: Engine, name: str) -> Iterator[Connection]:
    """Open a transaction that writes, once no other one that asked for this lock is open."""
    _ensure_row(engine, name, 0)
    with writing(engine) as connection:
        connection.execute(_LOCK, {"setting": name}).scalar_one()
        yield connection


def _ensure_row(engine: Engine, name: str, value: Any) -> None:
    """Make sure the row is there, in a transaction of its own: whoever waits for it afterwards holds nothing else."""
    with reading(engine) as connection:
        if connection.execute(_SETTING, {"setting": name}).one_or_none() is not None:
            return
    # Somebody else who creates the row at this moment does what we want.
    with suppress(IntegrityError), writing(engine) as connection:
        connection.execute(insert(tables.state).values(name=name, value=value))
