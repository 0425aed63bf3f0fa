"""What the port modules share: a database, a clock, the faults, and rows for settings and locks."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import and_, bindparam, exists, func, insert, null, or_, select, union_all, update
from sqlalchemy.exc import IntegrityError

from leasehold.cloud.sandbox import tables
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection, Engine, RowMapping

    from leasehold.cloud.sandbox.faults import Faults

STILL_THERE = or_(tables.servers.c.gone_at.is_(None), tables.servers.c.gone_at > bindparam("now"))
"""True for servers that exist at `now`: those whose deletion is not complete."""

MOVING = exists().where(tables.moves.c.server_id == tables.servers.c.id, tables.moves.c.done_at > bindparam("now"))
"""True for servers that at `now` are on the way to another host."""

_LEFT = select(tables.moves.c.service_host).where(
    tables.moves.c.server_id == tables.servers.c.id, tables.moves.c.done_at > bindparam("now")
)
HOST_NOW = func.coalesce(_LEFT.limit(1).scalar_subquery(), tables.servers.c.service_host)
"""Where a server is at `now`: one that moves is still on its old host."""

CONSUMED = union_all(
    select(
        tables.usages.c.provider_id, tables.usages.c.resource_class, tables.usages.c.amount, tables.usages.c.server_id
    )
    .join(tables.servers)
    .where(STILL_THERE),
    select(tables.moves.c.provider_id, tables.moves.c.resource_class, tables.moves.c.amount, tables.moves.c.server_id)
    .join(tables.servers)
    .where(STILL_THERE, tables.moves.c.done_at > bindparam("now")),
    select(tables.claims.c.provider_id, tables.claims.c.resource_class, tables.claims.c.amount, null()),
).subquery("consumed")
"""What is used of the providers at `now`: by servers, by servers that move, and by our claims."""

_SETTING = select(tables.state.c.value).where(tables.state.c.name == bindparam("setting"))
_LOCK, _SHARED_LOCK = _SETTING.with_for_update(), _SETTING.with_for_update(read=True)
_CHANGE = update(tables.state).where(tables.state.c.name == bindparam("setting")).values(value=bindparam("new_value"))


def is_on(one_of: Callable[[ColumnElement[Any]], ColumnElement[bool]]) -> ColumnElement[bool]:
    """Return the condition that a server is, at `now`, on one of the hosts that `one_of` accepts; uses the indexes."""
    leaving = select(tables.moves.c.server_id).where(
        one_of(tables.moves.c.service_host), tables.moves.c.done_at > bindparam("now")
    )
    return or_(and_(one_of(tables.servers.c.service_host), ~MOVING), tables.servers.c.id.in_(leaving))


SCHEDULER = "scheduler"
"""The lock of all who decide by what is left of the providers."""


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class Port:
    """One group of verbs on the sandbox's database; each verb is one short transaction."""

    group: ClassVar[str]

    def __init__(self, engine: Engine, faults: Faults, *, clock: Callable[[], datetime] = utc_now) -> None:
        """Work on `engine`; `clock` returns aware UTC and decides when a deletion of a server is complete."""
        self.engine = engine
        self.faults = faults
        self.clock = clock


def with_all(rows: Iterable[RowMapping], many: str) -> list[tuple[RowMapping, frozenset[Any]]]:
    """Return the first of the joined rows of each id, in their order, with what all rows of the id have in `many`."""
    found: dict[Any, tuple[RowMapping, set[Any]]] = {}
    for row in rows:
        there = found.setdefault(row["id"], (row, set()))[1]
        if row[many] is not None:
            there.add(row[many])
    return [(first, frozenset(there)) for first, there in found.values()]


def setting(connection: Connection, name: str, default: Any) -> Any:
    """Return a setting, or `default` when it is not set."""
    value = connection.execute(_SETTING, {"setting": name}).scalar_one_or_none()
    return default if value is None else value


def change_setting(engine: Engine, name: str, value: Any) -> None:
    """Set a setting for every process that uses this sandbox."""
    _ensure_row(engine, name, value)
    with writing(engine) as connection:
        connection.execute(_CHANGE, {"setting": name, "new_value": value})


@contextmanager
def locked(engine: Engine, name: str, *, shared: bool = False) -> Iterator[Connection]:
    """Open a write transaction that holds this lock, alone or `shared`; waits until no other one holds it otherwise."""
    lock = _SHARED_LOCK if shared else _LOCK
    with writing(engine) as connection:
        # All but the first caller on a database find the row.
        if connection.execute(lock, {"setting": name}).scalar_one_or_none() is not None:
            yield connection
            return
    _ensure_row(engine, name, 0)
    with writing(engine) as connection:
        connection.execute(lock, {"setting": name}).scalar_one()
        yield connection


def _ensure_row(engine: Engine, name: str, value: Any) -> None:
    """Make sure the row exists, in a separate transaction, so that a caller that then waits for it holds no lock."""
    with reading(engine) as connection:
        if connection.execute(_SETTING, {"setting": name}).one_or_none() is not None:
            return
    # Another process may create the row at the same moment, with the same result.
    with suppress(IntegrityError), writing(engine) as connection:
        connection.execute(insert(tables.state).values(name=name, value=value))
