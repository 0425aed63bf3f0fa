"""Connections, with the same guarantee on each database: a transaction sees what was committed before it asked.

Writing transactions use READ COMMITTED on MariaDB and PostgreSQL: a decision locks a pool first and must then read what
the previous holder of the lock committed; MariaDB's default level would show an older snapshot. A transaction that only
reads sees one snapshot in all its statements, so a lease never shows half of an amendment. SQLite uses WAL, so readers
never wait for the writer. A writer takes its lock at BEGIN, so two writers queue instead of failing half-way.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, nullcontext
from threading import Lock, get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy import NullPool, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import InvalidatePoolError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from leasehold.conf.database import IMPATIENT, PATIENT
from leasehold.db.galera import attend_to_galera
from leasehold.metrics.database import READS, WRITES, set_limit, set_used
from leasehold.model.json_bytes import as_json_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.pool import ConnectionPoolEntry, PoolResetState

    from leasehold.conf.database import DatabaseSettings

SQLITE_WAIT_SECONDS = 30
TRUSTED_SECONDS = 1.0
"""A connection that was idle for less than this is used again without a ping."""
EVERY: dict[str, Any] = {"hide_parameters": True, "json_serializer": as_json_text}
"""The options of every engine. The message of an error, which is logged, leaves out the values: some are secrets."""
COMMITTED = "committed"
"""Marks a connection whose transaction has been committed, so that there is nothing to roll back."""
_REGION = "leasehold_region"
_READERS: WeakKeyDictionary[Engine, Engine] = WeakKeyDictionary()
"""The read-only twin of an engine: setting the isolation level per connection saves a round trip per request."""
_ALONE: WeakKeyDictionary[Engine, Engine] = WeakKeyDictionary()
"""The twin of an engine each of whose statements is a transaction of its own, without messages to begin and end it."""
_WRITERS: WeakKeyDictionary[Engine, _Writer] = WeakKeyDictionary()
"""SQLite has one writer at a time and makes others poll; within a process this lock wakes the next writer at once."""


class NestedWriteError(RuntimeError):
    """A thread opens a second writing transaction on an SQLite database, and would wait for itself for ever."""


class _Writer:
    """The write lock of an SQLite database, which knows the thread that holds it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._thread: int | None = None

    def __enter__(self) -> None:
        # This read needs no lock: only this thread writes its own number there.
        if self._thread == get_ident():
            message = (
                "A transaction that writes to this SQLite database is open in this thread already. Call the sandbox "
                "cloud, which keeps its state in the same database, before or after that transaction."
            )
            raise NestedWriteError(message)
        self._lock.acquire()
        self._thread = get_ident()

    def __exit__(self, *_: object) -> None:
        self._thread = None
        self._lock.release()


def open_engine(
    url: str, *, pool_size: int = 20, settings: DatabaseSettings = PATIENT, region: str | None = None
) -> Engine:
    """Return an engine for `url` (SQLAlchemy form: sqlite, mysql+pymysql or postgresql+psycopg).

    `region` is the region of the service, which all resources have that are read from there.
    """
    backend = make_url(url).get_backend_name()
    named = {_REGION: region}
    if backend == "sqlite":
        return _open_sqlite(url, named)
    options: dict[str, Any] = {
        "connect_args": _driver_options(make_url(url), settings),
        "pool_size": pool_size,
        "pool_reset_on_return": None,
        "max_overflow": pool_size,
        "pool_recycle": 1800,
        "execution_options": named,
        **EVERY,
    }
    engine = create_engine(url, isolation_level="READ COMMITTED", **options)
    reader = _READERS[engine] = create_engine(url, isolation_level="REPEATABLE READ", **options)
    alone = _ALONE[engine] = create_engine(url, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True, **options)
    event.listen(engine, "engine_disposed", lambda _engine: reader.dispose())
    event.listen(engine, "engine_disposed", lambda _engine: alone.dispose())
    for each, name in ((engine, WRITES), (reader, READS)):
        _count_connections(each, name)
    for each in (engine, reader, alone):
        _spare_round_trips(each)
        _connect_quickly(each)
        if backend == "mysql":
            attend_to_galera(each, settings.wsrep_sync_wait)
    return engine


def reader_of(engine: Engine) -> Engine:
    """Return the engine that `reading` uses; SQLite needs no other, as each transaction there sees one snapshot."""
    return _READERS.get(engine, engine)


def region_of(connection: Connection) -> str | None:
    """Return the region of the service that opened the engine of this connection, or None."""
    return connection.get_execution_options().get(_REGION)


def engines_of(engine: Engine) -> frozenset[Engine]:
    """Return all engines that work for this one: what listens to its statements listens to each."""
    return frozenset({engine, reader_of(engine), _ALONE.get(engine, engine)})


def open_aside(url: URL) -> Engine:
    """Return an engine for rare queries to a server, each on a new connection with short timeouts."""
    options = _driver_options(url, IMPATIENT)
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool, connect_args=options, **EVERY)
    _connect_quickly(engine)
    return engine


def _connect_quickly(engine: Engine) -> None:
    if engine.dialect.name == "mysql":
        from leasehold.db import quick_pymysql  # noqa: PLC0415 - not loaded where another database is used.

        event.listen(engine, "do_connect", quick_pymysql.connect)


def _spare_round_trips(engine: Engine) -> None:
    """Roll back only what was not committed, and ping only connections that were idle for `TRUSTED_SECONDS`.

    SQLAlchemy's own options do both for each transaction, and the start of a lease has seven. A connection that broke
    within that second costs a transaction that is run again, or a read that is answered with 503.
    """

    @event.listens_for(engine, "reset")
    def roll_back(connection: Any, record: ConnectionPoolEntry, state: PoolResetState) -> None:
        if not (state.transaction_was_reset or state.terminate_only or record.info.pop(COMMITTED, False)):
            connection.rollback()

    @event.listens_for(engine, "checkin")
    def note(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["idle_since"] = monotonic()

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
        idle_since = record.info.get("idle_since")
        if idle_since is None or monotonic() - idle_since < TRUSTED_SECONDS:
            return
        try:
            stands = engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error:
            stands = False
        if not stands:
            raise InvalidatePoolError


def _count_connections(engine: Engine, name: str) -> None:
    """Note for the metrics how many connections of the engine's pool are used, whenever that changes."""
    if not isinstance(engine.pool, QueuePool):  # SQLite in memory, which has one connection for each thread.
        return
    set_limit(name, engine.pool.size() + engine.pool._max_overflow)  # noqa: SLF001 - it has no other name.
    set_used(name, 0)

    def in_use() -> int:
        # The engine has another pool after it was disposed of.
        return engine.pool.checkedout() if isinstance(engine.pool, QueuePool) else 0

    @event.listens_for(engine, "checkout")
    def used(_connection: Any, _record: object, _proxy: object) -> None:
        set_used(name, in_use())

    @event.listens_for(engine, "checkin")
    def returned(_connection: Any, _record: object) -> None:
        # Sent before the pool has it back, which may be one from before.
        set_used(name, max(0, in_use() - 1))


def _driver_options(url: URL, settings: DatabaseSettings) -> dict[str, Any]:
    """Return the driver's options, without those that the URL sets."""
    if url.get_backend_name() == "mysql":
        options: dict[str, Any] = {"read_timeout": settings.read_timeout, "write_timeout": settings.read_timeout}
    else:
        options = _silence_of_the_network(settings.read_timeout) if settings.read_timeout else {}
    options["connect_timeout"] = settings.connect_timeout
    return {name: value for name, value in options.items() if name not in url.query}


def _silence_of_the_network(seconds: int) -> dict[str, Any]:
    """Return libpq's options that find a dead server within `seconds`, both while waiting and while sending."""
    pause = max(1, seconds // 4)
    probes = {"keepalives_idle": pause, "keepalives_interval": pause, "keepalives_count": 3}
    return {**probes, "tcp_user_timeout": seconds * 1000}


def is_busy(error: BaseException) -> bool:
    """Say whether SQLite refuses because somebody else is writing, or recovers the file after one who died."""
    # The last byte of a code is its kind; SQLITE_BUSY_RECOVERY is one of those.
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


_UNTIL_FREE = Retrying(
    retry=retry_if_exception(is_busy),
    stop=stop_after_delay(SQLITE_WAIT_SECONDS),
    wait=wait_random(0, 0.05),
    reraise=True,
)
"""Tries again what SQLite refuses at once, instead of after its own timeout, while another process does the same: the
change of a new file's journal mode."""


def _open_sqlite(url: str, named: Mapping[str, Any]) -> Engine:
    options = {"timeout": SQLITE_WAIT_SECONDS, "check_same_thread": False}
    engine = create_engine(url, connect_args=options, execution_options=named, **EVERY)
    _WRITERS[engine] = _Writer()
    _count_connections(engine, WRITES)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # The hook below sends BEGIN, so the driver must not start transactions.
        _UNTIL_FREE(connection.execute, "PRAGMA journal_mode=WAL")
        for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("leasehold_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that only reads, and sees the database as it was at the first statement."""
    with reader_of(engine).connect() as connection:
        with connection.begin():
            yield connection
        connection.info[COMMITTED] = True


@contextmanager
def alone(engine: Engine, *, writes: bool = False) -> Iterator[Connection]:
    """Yield a connection for one statement, which is a transaction of its own; one that `writes` has to say so.

    It takes one message to the server where `reading` and `writing` take two or three. SQLite has no other
    connection for it, and locks only who writes.
    """
    single = _ALONE.get(engine)
    if single is None:
        with (writing if writes else reading)(engine) as connection:
            yield connection
        return
    with single.connect() as connection:
        yield connection
        connection.info[COMMITTED] = True


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes: committed when the block ends, rolled back when it raises."""
    turn: AbstractContextManager[Any] = _WRITERS.get(engine, nullcontext())
    with turn, engine.connect().execution_options(leasehold_writes=True) as connection:
        with connection.begin():
            yield connection
        connection.info[COMMITTED] = True
