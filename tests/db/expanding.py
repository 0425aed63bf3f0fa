"""Compares a database before and after a migration, to find what code written before it can no longer do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Shape:
    """The tables of a database: the columns of each by name, and its constraints by columns."""

    columns: dict[str, dict[str, dict[str, Any]]]
    rules: dict[str, set[tuple[str, tuple[str, ...]]]]

    def altered_by(self, after: Shape) -> set[str]:
        """Return the tables that exist in both shapes but have different columns or constraints."""
        return {
            name
            for name in self.columns.keys() & after.columns.keys()
            if _described(self.columns[name]) != _described(after.columns[name])
            or self.rules[name] != after.rules[name]
        }


def shape_of(connection: Connection) -> Shape:
    """Return the current tables."""
    found = inspect(connection)
    names = found.get_table_names()
    return Shape(
        {name: {column["name"]: dict(column) for column in found.get_columns(name)} for name in names},
        {name: _rules(found, name) for name in names},
    )


def _rules(found: Any, name: str) -> set[tuple[str, tuple[str, ...]]]:
    unique = [each["column_names"] for each in found.get_unique_constraints(name)]
    unique += [each["column_names"] for each in found.get_indexes(name) if each["unique"]]
    foreign = [each["constrained_columns"] for each in found.get_foreign_keys(name)]
    checks = [(each["sqltext"],) for each in found.get_check_constraints(name)]
    return {
        *(("unique", tuple(each)) for each in unique),
        *(("foreign", tuple(each)) for each in foreign),
        *(("check", each) for each in checks),
    }


def _described(columns: dict[str, dict[str, Any]]) -> dict[str, tuple[str, bool]]:
    return {name: (str(column["type"]), column["nullable"]) for name, column in columns.items()}


def taken(before: Shape, after: Shape) -> list[str]:
    """Return, as sentences, what code for `before` can no longer do; empty after an expansion."""
    found = [f"The table {name} is gone." for name in sorted(before.columns.keys() - after.columns.keys())]
    for name in sorted(before.columns.keys() & after.columns.keys()):
        found += _taken_of_columns(name, before.columns[name], after.columns[name])
        rules = sorted(after.rules[name] - before.rules[name])
        found += [f"The rows of {name} have a new rule: {kind} {columns}." for kind, columns in rules]
    return found


def _taken_of_columns(table: str, before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> list[str]:
    found = []
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            found.append(f"The column {table}.{name} is gone.")
        elif str(new["type"]) != str(old["type"]):
            found.append(f"The column {table}.{name} is {new['type']} instead of {old['type']}.")
        elif old["nullable"] and not new["nullable"]:
            found.append(f"The column {table}.{name} may not be NULL any more.")
    added = [name for name in sorted(after.keys() - before.keys()) if not after[name]["nullable"]]
    unknown = [name for name in added if after[name]["default"] is None]
    found += [f"The column {table}.{name} is new, and an INSERT that does not name it fails." for name in unknown]
    return found
