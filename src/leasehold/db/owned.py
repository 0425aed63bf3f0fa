"""The rows of what projects own, such as alarms: one table for each kind of item, and one row for each item."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sqlalchemy import delete, func, insert, select

from leasehold.db.paging import Listed, of_project
from leasehold.model.paging import WHOLE, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from _typeshed import DataclassInstance
    from sqlalchemy import ColumnElement, Connection, Row, Table

    class OwnedItem(DataclassInstance, Protocol):
        """Something that a project owns; a dataclass with a field for each column of its table."""

        @property
        def id(self) -> str: ...

        @property
        def project_id(self) -> str: ...


Item = TypeVar("Item", bound="OwnedItem")


@dataclass(frozen=True, slots=True)
class OwnedRows(Generic[Item]):
    """The items of a table; `keys` as in `Listed`, and `converted` makes fields that are not as in the row."""

    table: Table
    kind: type[Item]
    keys: Mapping[str, ColumnElement[Any]] = field(default_factory=dict)
    converted: Mapping[str, Callable[[Row[Any]], Any]] = field(default_factory=dict)

    def add(self, connection: Connection, new: Item) -> None:
        """Write an item."""
        connection.execute(insert(self.table), asdict(new))

    def count(self, connection: Connection, project_id: str) -> int:
        """Return how many items a project has."""
        query = select(func.count()).select_from(self.table).where(*of_project(self.table, project_id))
        return connection.execute(query).scalar_one()

    def page(self, connection: Connection, project_id: str | None, part: Part = WHOLE) -> Sequence[Item]:
        """Return a part of the items of a project, or with None of all projects, oldest first."""
        listed = Listed(self.table, self.keys)
        return self.read(listed.rows(connection, part, *of_project(self.table, project_id)))

    def find(self, connection: Connection, ident: str) -> Item | None:
        """Return an item, or None."""
        found = self.read(connection.execute(select(self.table).where(self.table.c.id == ident)))
        return found[0] if found else None

    def remove(self, connection: Connection, ident: str) -> bool:
        """Remove an item; say whether it was there."""
        return connection.execute(delete(self.table).where(self.table.c.id == ident)).rowcount == 1

    def read(self, rows: Iterable[Row[Any]]) -> Sequence[Item]:
        """Return the items of rows."""
        names = [each.name for each in fields(self.kind) if each.name not in self.converted]
        return [
            self.kind(
                **{name: row._mapping[name] for name in names},  # noqa: SLF001 - SQLAlchemy's public name for it.
                **{name: convert(row) for name, convert in self.converted.items()},
            )
            for row in rows
        ]
