"""Reads the tables of the database and of the sandbox cloud as plain values, without the product's own definitions.

    tables = read_tables(url)
    [row.status for row in tables["leases"]]

Columns with JSON are decoded, and moments are aware, on every database.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from leasehold.db.engine import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Engine

BOOKS = (
    *("leases", "reservations", "allocations", "events", "tasks", "outbox", "event_log", "resources", "pools"),
    *("segments", "sleeps"),
)
"""The tables that the checks of the database need."""
CLOUD = tuple(
    f"sandbox_{name}"
    for name in (
        "aggregates",
        "aggregate_hosts",
        "flavors",
        "flavor_access",
        "resource_classes",
        "providers",
        "inventories",
        "floating_ips",
        "floating_ip_tags",
        "hypervisors",
        "claims",
    )
)
"""The tables that the checks of the cloud need in addition."""
SANDBOX = "sandbox_"
MANMADE = (
    "sandbox_servers",
    "sandbox_usages",
    "sandbox_hints",
    "sandbox_moves",
    "sandbox_snapshots",
    "sandbox_state",
    "sandbox_faults",
)
"""Cloud tables that users or the test write. All other tables must be in their initial state at the end."""
_JSON = frozenset({"capacity", "attributes", "request", "payload", "demand", "waiting", "ending", "no_show", "cloud"})
_MOMENTS = frozenset({"time", "claim_until"})

Row = SimpleNamespace
Dump = dict[str, list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Tables:
    """The rows at one moment, by table."""

    rows: Mapping[str, Sequence[Row]]

    def __getitem__(self, table: str) -> Sequence[Row]:
        """Return the rows of a table."""
        return self.rows[table]

    def leases(self) -> Iterator[Row]:
        """Return the leases that exist."""
        return (row for row in self["leases"] if row.deleted_at is None)

    def parts(self, lease: Row) -> list[Row]:
        """Return the reservations of a lease."""
        return [row for row in self["reservations"] if row.lease_id == lease.id]

    def event(self, lease: Row, kind: str) -> Row:
        """Return the one event of this kind; raise ValueError unless there is exactly one."""
        (found,) = [row for row in self["events"] if row.lease_id == lease.id and row.type == kind]
        return found

    def resource(self, number: int) -> Row:
        """Return the resource with this number."""
        (found,) = [row for row in self["resources"] if row.number == number]
        return found

    def allocated(self, lease_ids: set[str] | None = None) -> list[Row]:
        """Return the allocations that hold a resource for some time, of these leases or of all."""
        found = [row for row in self["allocations"] if row.ends_at > row.starts_at]
        return found if lease_ids is None else [row for row in found if row.lease_id in lease_ids]

    def live(self, lease: Row, part: Row) -> list[Row]:
        """Return the allocations of a reservation that last until the end of its lease."""
        return [
            row
            for row in self.allocated()
            if row.reservation_id == part.id
            and row.released_at is None
            and row.left_at is None
            and row.ends_at >= seconds(lease.end_at)
        ]

    def left(self, part: Row) -> set[str]:
        """Return the service names of failed hosts that a reservation vacated but on which it still has servers."""
        numbers = {
            row.resource_number
            for row in self["allocations"]
            if row.reservation_id == part.id and row.released_at is None and row.left_at is not None
        }
        return {self.resource(number).attributes["service_name"] for number in numbers}


def seconds(moment: datetime) -> int:
    """Return a moment as whole seconds since the epoch, as the allocations store it."""
    return int(moment.timestamp())


def moment(value: Any) -> datetime:
    """Return a moment from what drivers and answers give: aware, naive or text, always UTC."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found.replace(tzinfo=found.tzinfo or UTC)


def read_tables(source: str | Engine, names: Sequence[str] = (*BOOKS, *CLOUD)) -> Tables:
    """Return all rows of these tables in one snapshot."""
    with _connected(source) as connection:
        return Tables({name: [Row(**_decoded(row)) for row in _rows(connection, name)] for name in names})


def dump(source: str | Engine, wanted: Callable[[str], bool] = lambda name: not name.startswith(SANDBOX)) -> Dump:
    """Return all rows of these tables, our own by default, sorted, as comparable values."""
    with _connected(source) as connection:
        names = sorted(filter(wanted, sa.inspect(connection).get_table_names()))
        return {
            name: sorted((tuple(map(repr, row.values())) for row in _rows(connection, name)), key=repr)
            for name in names
        }


def differences(one: Dump, other: Dump) -> list[str]:
    """Return each row that only one of two databases has: `+` for the other's, `-` for the first's."""
    found = []
    for name in sorted({*one, *other}):
        here, there = set(one.get(name, ())), set(other.get(name, ()))
        found += [f"- {name} {row}" for row in sorted(here - there, key=repr)]
        found += [f"+ {name} {row}" for row in sorted(there - here, key=repr)]
    return found


def cloud_state(engine: Engine) -> Dump:
    """Return the rows of the cloud's tables, except `MANMADE`, with names instead of generated keys."""
    with _connected(engine) as connection:
        names = [name for name in sa.inspect(connection).get_table_names() if name.startswith(SANDBOX)]
        found = {name: list(map(dict, _rows(connection, name))) for name in names if name not in MANMADE}
    for table, key, owners, label in (
        ("sandbox_aggregate_hosts", "aggregate_id", "sandbox_aggregates", "name"),
        ("sandbox_inventories", "provider_id", "sandbox_providers", "name"),
        ("sandbox_claims", "provider_id", "sandbox_providers", "name"),
        ("sandbox_traits", "provider_id", "sandbox_providers", "name"),
        ("sandbox_floating_ip_tags", "floating_ip_id", "sandbox_floating_ips", "address"),
    ):
        by = {row["id"]: row[label] for row in found[owners]}
        found[table] = [{**row, key: by[row[key]]} for row in found[table]]
    return {
        name: sorted(
            tuple(f"{key}={value!r}" for key, value in row.items() if key not in ("id", "parent_id")) for row in rows
        )
        for name, rows in found.items()
    }


def _connected(source: str | Engine) -> Any:
    """Open a transaction that reads one snapshot: through an engine of ours for a URL, or through the given one."""
    if isinstance(source, str):
        engine = sa.create_engine(source, isolation_level="SERIALIZABLE", poolclass=sa.NullPool)
        if engine.dialect.name == "sqlite":
            # Its driver begins only at the first write: each table would be read at a moment of its own.
            sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        return engine.begin()
    return reading(source)


def _rows(connection: Connection, table: str) -> Sequence[Mapping[str, Any]]:
    return connection.execute(sa.text(f"SELECT * FROM {table}")).mappings().all()  # type: ignore[return-value]  # noqa: S608


def _decoded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in row.items()}


def _value(column: str, value: Any) -> Any:
    if isinstance(value, str) and column in _JSON:
        return json.loads(value)
    is_moment = column.endswith("_at") or column in _MOMENTS
    return moment(value) if is_moment and isinstance(value, str | datetime) else value


def is_dropped(part: Row) -> bool:
    """Say whether its owner has dropped a reservation, which has nothing of its lease any more."""
    return bool(part.cloud.get("dropped"))
