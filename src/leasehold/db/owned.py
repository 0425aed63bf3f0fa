"""The rows of what projects own, such as alarms: one table for each kind of item, and one row for each item."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sqlalchemy import delete, func, insert, select

from leasehold.db.paging import Listed
from leasehold.model.paging import WHOLE, PageRequest

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
    """The items of a table; `keys` as in `Listed`.

    `converted` makes fields that are not as in the row, and `stored` a row. Items count for whom the column `owner`
    names, and everybody sees those of `shared`. Rows that do not meet `there` count as deleted.
    """

    table: Table
    kind: type[Item]
    keys: Mapping[str, ColumnElement[Any]] = field(default_factory=dict)
    converted: Mapping[str, Callable[[Row[Any]], Any]] = field(default_factory=dict)
    stored: Callable[[Item], Mapping[str, Any]] = asdict
    owner: str = "project_id"
    shared: str | None = None
    there: Sequence[ColumnElement[bool]] = ()

    def add(self, connection: Connection, new: Item) -> None:
        """Write an item."""
        connection.execute(insert(self.table), self.stored(new))

    def owner_of(self, item: Item) -> str:
        """Return for whom an item counts."""
        return str(self.stored(item)[self.owner])

    def count(self, connection: Connection, owner: str) -> int:
        """Return how many items count for an owner."""
        query = select(func.count()).select_from(self.table).where(self.table.c[self.owner] == owner, *self.there)
        return connection.execute(query).scalar_one()

    def page(self, connection: Connection, project_id: str | None, part: PageRequest = WHOLE) -> Sequence[Item]:
        """Return a part of the items that a project sees, or with None of all projects, oldest first."""
        owner = self.table.c[self.owner]
        seen = owner == project_id if self.shared is None else owner.in_([project_id, self.shared])
        listed = Listed(self.table, self.keys)
        return self.read(listed.rows(connection, part, *self.there, *(() if project_id is None else (seen,))))

    def find(self, connection: Connection, ident: str) -> Item | None:
        """Return an item, or None."""
        found = self.read(connection.execute(select(self.table).where(self.table.c.id == ident, *self.there)))
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
