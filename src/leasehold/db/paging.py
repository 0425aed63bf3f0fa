"""Parts of lists (`model/paging.py`), which the database sorts, filters and cuts: the same for every table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, or_, select

from leasehold.model.paging import unknown_marker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Table

    from leasehold.model.paging import PageRequest


@dataclass(frozen=True, slots=True)
class Listed:
    """How the rows of a table are listed: by `order`, of which each row has another last value, or by when they began.

    `keys` are what items show that is no column of this name; all other keys are columns.
    """

    table: Table
    keys: Mapping[str, ColumnElement[Any]] = field(default_factory=dict)
    order: Sequence[ColumnElement[Any]] = ()

    def rows(self, connection: Connection, part: PageRequest, *where: ColumnElement[bool]) -> Sequence[Row[Any]]:
        """Return the rows of a part of the list of those that meet the conditions.

        Those that have nothing to sort by come last, whatever the direction. Raises InvalidInputError for a marker that
        is not in the whole list.
        """
        columns = self.table.c
        order = self.order or (columns.created_at, columns.id)
        sort, tie = part.sort, order[-1]
        key = order[0] if sort is None else self._key(sort.key)
        down = sort is not None and sort.descending
        query = select(self.table).where(*where)
        if part.marker is not None:
            place = connection.execute(select(key, tie).where(*where, columns.id == part.marker)).first()
            if place is None:
                raise unknown_marker()
            query = query.where(_follows(key, tie, *place, down=down))
        query = query.where(*(self._key(name).in_(values) for name, values in part.wanted.items()))
        # Databases put NULL at different ends. What a list is sorted by of itself is never NULL, and may have an index.
        last = () if sort is None else (key.is_(None),)
        return connection.execute(query.order_by(*last, key.desc() if down else key, tie).limit(part.limit)).all()

    def _key(self, name: str) -> ColumnElement[Any]:
        return self.keys[name] if name in self.keys else self.table.c[name]


def _follows(
    key: ColumnElement[Any], tie: ColumnElement[Any], value: Any, last: Any, *, down: bool
) -> ColumnElement[bool]:
    """Return the condition that a row comes after the one with these values."""
    if value is None:
        return and_(key.is_(None), tie > last)
    return or_(key.is_(None), key < value if down else key > value, and_(key == value, tie > last))


def of_project(table: Table, project_id: str | None) -> Sequence[ColumnElement[bool]]:
    """Return the condition that rows are of a project, none for all projects."""
    return () if project_id is None else (table.c.project_id == project_id,)
