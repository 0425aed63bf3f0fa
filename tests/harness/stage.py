"""A database with leases and a cloud, which can be restored to a snapshot, and the checks on both at the end."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, or_, select, text

from leasehold.cloud.sandbox import tables as cloud
from leasehold.db import tables as db
from leasehold.db.engine import open_engine, writing
from leasehold.db.tables import tasks
from tests.factory import Clock, World, make_schema, open_service
from tests.harness.mix import HOSTS
from tests.processes import wait_for
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Column, Connection, Table

    from tests.processes import Options

RIGHT_WITHIN = 60.0
"""Seconds after a restart or a takeover within which the state must be correct again (from the requirement)."""
ADDRESSES = (200, 201, 202)
SHORT_CLAIMS: Options = {
    "DEFAULT": {"debug": True},
    "manager": {"claim_seconds": 3, "poll_seconds": 0.05, "retry_first_seconds": 0.1, "workers": 1},
    "api": {"auth_strategy": "none", "delete_wait_seconds": 0.2},
    "physical:host": {"polling_interval": 3600},
}
"""A claim that expires soon, so that hundreds of kills take minutes. Another test covers the default."""
_TABLES = (*db.metadata.sorted_tables, *cloud.metadata.sorted_tables)
_SOON = timedelta(seconds=0.2)


class RealClock(Clock):
    """The machine's time, shifted back during the setup of a scene so that the setup happens in the past."""

    def __init__(self) -> None:
        """Start at the present."""
        super().__init__(datetime.now(UTC))
        self.behind = timedelta(0)

    def now(self) -> datetime:
        """Return the machine's time minus the shift."""
        return datetime.now(UTC) - self.behind

    def advance(self, **parts: float) -> None:
        """Come nearer to the present."""
        self.behind -= timedelta(**parts)


Rows = dict[str, list[dict[str, Any]]]


@dataclass(slots=True)
class Stage:
    """The world of one database in real time, and a folder for the programs' files; `begun` is its creation time.

    Diagnostics of a failed run go to `evidence`, or to a new temporary folder when it is None.
    """

    url: str
    folder: Path
    world: World
    evidence: Path | None = None
    begun: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    @property
    def clock(self) -> RealClock:
        """The world's clock, which can be shifted."""
        assert isinstance(self.world.clock, RealClock)
        return self.world.clock

    def rows(self) -> Rows:
        """Return the rows of all tables, without what the database computes."""
        with self.world.service.db.reading() as connection:
            return {
                table.name: [dict(row) for row in connection.execute(select(*_stored(table))).mappings()]
                for table in _TABLES
            }

    def restore(self, rows: Rows) -> None:
        """Restore all rows and drop the caches of this process, because the generations go backwards."""
        # A separate engine: the restore does not follow the lock order.
        engine = open_engine(self.url)
        with writing(engine) as connection:
            for table in reversed(_TABLES):
                if "parent_id" in table.c:
                    connection.execute(table.delete().where(table.c.parent_id.is_not(None)))
                connection.execute(table.delete())
            for table in _TABLES:
                if rows[table.name]:
                    connection.execute(insert(table), _parents_first(table, rows[table.name]))
                    _count_on(connection, table)
        engine.dispose()
        self.world.engine.dispose()
        self.world = open_service(self.url, clock=self.world.clock)

    def wait_until(self, condition: Callable[[World], bool]) -> float:
        """Wait until no work is open and the condition holds; return the seconds that took."""
        begun = time.monotonic()
        try:
            wait_for(lambda: condition(self.world) and _nothing_open(self.world), RIGHT_WITHIN)
        except AssertionError as error:
            message = f"Not right within {RIGHT_WITHIN} s:\n{_state(self.world)}"
            raise AssertionError(message) from error
        return time.monotonic() - begun

    def check(self) -> None:
        """Raise AssertionError unless two independent counts agree on the database and the cloud matches it."""
        try:
            audit(self.world)
            audit_cloud(self.world)
        except AssertionError as error:
            message = f"{error}\n{_state(self.world)}"
            raise AssertionError(message) from error


def _count_on(connection: Connection, table: Table) -> None:
    """Set PostgreSQL's sequence to continue after these rows; the other databases derive it from the rows."""
    counted = table.autoincrement_column
    if connection.dialect.name == "postgresql" and counted is not None:
        query = "SELECT setval(pg_get_serial_sequence(:name, :key), (SELECT MAX({0}) FROM {1}))"
        connection.execute(text(query.format(counted.name, table.name)), {"name": table.name, "key": counted.name})


def _stored(table: Table) -> list[Column[Any]]:
    """Return the columns that are written; the database takes no value for the others."""
    return [column for column in table.c if column.computed is None]


def _parents_first(table: Table, rows: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows ordered so that a row comes after the row of the same table it refers to."""
    return sorted(rows, key=lambda row: row.get("parent_id") or 0) if "parent_id" in table.c else list(rows)


def _nothing_open(world: World) -> bool:
    """Return whether no task is claimed and none is due."""
    query = select(tasks.c.id).where(or_(tasks.c.claimed_by.is_not(None), tasks.c.due_at <= world.now() + _SOON))
    with world.service.db.reading() as connection:
        return connection.execute(query).first() is None


def _state(world: World) -> str:
    with world.service.db.reading() as connection:
        rows = [
            *connection.execute(select(db.leases.c.id, db.leases.c.status, db.leases.c.status_reason)),
            *connection.execute(select(tasks)),
            *connection.execute(
                select(cloud.aggregates.c.name, cloud.aggregate_hosts.c.service_host).outerjoin_from(
                    cloud.aggregates, cloud.aggregate_hosts
                )
            ),
            *connection.execute(select(cloud.flavors.c.id)),
        ]
    return "\n".join(map(str, rows))


@contextmanager
def new_stage(url: str, folder: Path, evidence: Path | None = None) -> Iterator[Stage]:
    """Yield a stage in an empty database, with five hosts and three addresses enrolled."""
    make_schema(url)
    world = open_service(url, clock=RealClock())
    world.enrol(*HOSTS)
    world.enrol_addresses(*ADDRESSES)
    stage = Stage(url, folder, world, evidence)
    try:
        yield stage
    finally:
        stage.world.engine.dispose()
