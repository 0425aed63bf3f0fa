"""Blazar databases, filled with rows that a real Blazar wrote, and the answers of its API.

`settled.json` is the final, idle state; `interrupted.json` is the same installation a few minutes before, in the middle
of its work. Both contain the result of a lost race in Blazar: eight leases, on four hosts, for the same hour.
"""

from __future__ import annotations

import copy
import json
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import MetaData, create_engine, insert
from sqlalchemy.types import DateTime

from leasehold.cloud.ports import Flavor, Inventory
from leasehold.resource_types.slots.names import child_provider, resource_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.cloud.ports import Cloud

DATA = Path(__file__).parent / "data"

Rows = dict[str, list[dict[str, Any]]]


def load(name: str = "settled", part: str = "rows") -> Rows:
    """Return the rows of a recording by table; `settled` also has the `answers` of Blazar's API and its `cloud`."""
    recorded: dict[str, Rows] = json.loads((DATA / f"{name}.json").read_text())
    return recorded[part]


def make_sqlite(path: Path, rows: Rows) -> str:
    """Create Blazar's schema in a file, fill it, and return its URL. Orphans are allowed, as on an old installation."""
    with sqlite3.connect(path) as connection:
        connection.executescript((DATA / "schema.sql").read_text())
    connection.close()
    url = f"sqlite:///{path}"
    fill(url, rows)
    return url


def fill(url: str, rows: Rows) -> None:
    """Write the rows into a database that already has Blazar's schema."""
    engine = create_engine(url)
    metadata = MetaData()
    metadata.reflect(engine)
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            if table.name != "alembic_version" and rows.get(table.name):
                connection.execute(insert(table), [_typed(table.columns, row) for row in rows[table.name]])
    engine.dispose()


def _typed(columns: Any, row: dict[str, Any]) -> dict[str, Any]:
    return {
        column.name: datetime.fromisoformat(value) if value and isinstance(column.type, DateTime) else value
        for column in columns
        for value in (row.get(column.name),)
    }


def build_cloud(cloud: Cloud, left: Rows) -> None:
    """Make any cloud look as the recorded Blazar left it."""
    known = {row["floating_ip_address"]: row for row in left["enrolled"]}
    for row in left["hosts"]:
        cloud.providers.ensure_child(row["hypervisor_hostname"], child_provider(row["hypervisor_hostname"]))
    for aggregate in left["aggregates"]:
        cloud.aggregates.ensure(aggregate["name"], aggregate["zone"], aggregate["metadata"])
        for host in aggregate["hosts"]:
            cloud.aggregates.add_host(aggregate["name"], host)
    for row in left["flavors"]:
        cloud.flavors.ensure(Flavor(**{**row, "projects": frozenset()}))
        for project in row["projects"]:
            cloud.flavors.grant(row["id"], project)
        cloud.providers.ensure_class(resource_class(row["id"]))
    for row in left["inventories"]:
        offered = Inventory(total=row["total"], max_unit=row["max_unit"])
        cloud.providers.set_inventory(row["provider"], row["resource_class"], offered)
    for row in left["floatingips"]:
        where = known[row["address"]]
        cloud.networks.create_floating_ip(
            where["floating_network_id"],
            where["subnet_id"],
            row["address"],
            row["project_id"],
            frozenset(row["tags"]),
        )


def replaced(rows: Rows, pairs: Mapping[str, str]) -> Rows:
    """Return the rows with each old text of `pairs` replaced by the new one, in any column."""
    words = json.dumps(rows)
    for old, new in pairs.items():
        words = words.replace(old, new)
    found: Rows = json.loads(words)
    return found


def left_cloud() -> Rows:
    """Return the cloud as Blazar left it, with the hosts and addresses that were enrolled."""
    rows = load()
    return {**load(part="cloud"), "hosts": rows["computehosts"], "enrolled": rows["floatingips"]}


def changed(rows: Rows, *changes: Callable[[Rows], object]) -> Rows:
    """Return a copy of the rows with these changes applied."""
    mine = copy.deepcopy(rows)
    for change in changes:
        change(mine)
    return mine
