"""Checks of the tables that do not use the service: plain rows and plain Python, none of the code under test."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

Row = dict[str, Any]
TABLES = ("leases", "reservations", "allocations", "events", "tasks", "outbox", "resources", "pools")


@dataclass(frozen=True)
class Ledger:
    """The rows of the database at one moment, by table."""

    rows: dict[str, list[Row]]

    @property
    def names(self) -> set[str]:
        """The names of all leases ever written."""
        return {row["name"] for row in self.rows["leases"]}

    def live(self, lease_ids: set[str] | None = None) -> list[Row]:
        """Return the allocations that hold a resource for some time, of these leases or of all."""
        found = [row for row in self.rows["allocations"] if row["ends_at"] > row["starts_at"]]
        return found if lease_ids is None else [row for row in found if row["lease_id"] in lease_ids]

    def problems(self) -> list[str]:
        """Return the problems of the database; empty when it is consistent."""
        return [*self._overbooked(), *self._torn(), *self._unkept(), *self._stamps()]

    def _overbooked(self) -> list[str]:
        """Check every resource at each moment at which an allocation begins: use can only rise there."""
        found = []
        capacities = {row["number"]: _decoded(row["capacity"]) for row in self.rows["resources"]}
        on_host: dict[int, list[Row]] = defaultdict(list)
        for row in self.live():
            on_host[row["resource_number"]].append(row)
        for host, promises in on_host.items():
            for moment in {row["starts_at"] for row in promises}:
                present = [row for row in promises if row["starts_at"] <= moment < row["ends_at"]]
                if any(row["demand"] is None for row in present) and len(present) > 1:
                    found.append(f"host {host} is promised whole and otherwise at {moment}: {present}")
                for name, used in _use(present).items():
                    if used > capacities[host].get(name, 0):
                        found.append(f"host {host} has promised {used} {name} at {moment}: {present}")
        return found

    def _torn(self) -> list[str]:
        """Every row belongs to a lease, and every lease has all its rows: transactions are atomic."""
        leases = {row["id"] for row in self.rows["leases"]}
        columns = {"reservations": "lease_id", "allocations": "lease_id", "events": "lease_id", "outbox": "lease_id"}
        found = [
            f"{table} holds a row of the unknown lease {row[column]}"
            for table, column in columns.items()
            for row in self.rows[table]
            if row[column] not in leases
        ]
        for table, column in {"events": "lease_id", "outbox": "lease_id", "tasks": "subject"}.items():
            missing = leases - {row[column] for row in self.rows[table]}
            found += [f"lease {lease} has no row in {table}" for lease in sorted(missing)]
        missing = {row["id"] for row in self.rows["reservations"]}
        missing -= {row["reservation_id"] for row in self.rows["allocations"]}
        found += [f"reservation {each} was never promised anything" for each in sorted(missing)]
        return found

    def _unkept(self) -> list[str]:
        """Every existing lease holds what it asked for, and a deleted lease holds nothing."""
        found = []
        held: dict[str, list[Row]] = defaultdict(list)
        for row in self.live():
            held[row["reservation_id"]].append(row)
        gone = {row["id"] for row in self.rows["leases"] if row["deleted_at"] is not None}
        lasting = {row["id"] for row in self.rows["leases"] if row["end_at"] != row["start_at"]}
        waiting = {row["id"] for row in self.rows["leases"] if row["status"] == "PENDING"} & lasting - gone
        for row in self.rows["reservations"]:
            request, slots = _decoded(row["request"]), sum(each["slots"] for each in held[row["id"]])
            low, high = request.get("min", request.get("amount")), request.get("max", request.get("amount"))
            enough = 0 if row["missing_resources"] else low
            if row["lease_id"] in waiting and not enough <= slots <= high:
                found.append(f"reservation {row['id']} asked for {low} to {high} and holds {slots}")
        return found

    def _stamps(self) -> list[str]:
        """No allocation may have a generation that its pool has not reached."""
        generations = {row["name"]: row["generation"] for row in self.rows["pools"]}
        return [
            f"allocation {row['id']} is of generation {row['generation']}, its pool of {generations[row['pool']]}"
            for row in self.rows["allocations"]
            if row["generation"] > generations[row["pool"]]
        ]


def _use(promises: list[Row]) -> dict[str, int]:
    used: dict[str, int] = defaultdict(int)
    for row in promises:
        for name, amount in (json.loads(row["demand"]) if row["demand"] else {}).items():
            used[name] += amount * row["slots"]
    return used


def _decoded(value: Any) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(value) if isinstance(value, str) else value
    return decoded


def read_ledger(database_url: str) -> Ledger:
    """Return all rows in one snapshot."""
    engine = sa.create_engine(database_url, isolation_level="SERIALIZABLE", poolclass=sa.NullPool)
    with engine.begin() as connection:
        rows = {
            table: [dict(row) for row in connection.execute(sa.text(f"SELECT * FROM {table}")).mappings()]  # noqa: S608
            for table in TABLES
        }
    engine.dispose()
    return Ledger(rows)
