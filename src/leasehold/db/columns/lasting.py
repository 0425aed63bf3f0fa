"""How long a row lasts, in steps, so that an index finds the rows that meet a window.

Each row has the least of `LENGTHS` within which it ends. So the rows of a window are one range of starts for each
length, however many lie before and after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Column, Computed

from leasehold.db.columns.holding import LENGTHS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Select, Table

LASTS: Final = "CASE {} ELSE {} END".format(
    " ".join(f"WHEN ends_at - starts_at <= {each} THEN {each}" for each in LENGTHS[:-1]), LENGTHS[-1]
)


def lasting() -> Column[int]:
    """Return the column, which the database computes of `starts_at` and `ends_at`."""
    return Column("lasts", BigInteger, Computed(LASTS))


def ranges(
    some: Select[Any], length: ColumnElement[int], begin: ColumnElement[int], start: Any, end: Any
) -> Iterator[Select[Any]]:
    """Yield queries for those rows that may have a moment of `[start, end)`, by columns of their length and begin.

    They are to be united, one for each length: with OR, SQLite reads all rows.
    """
    yield from (some.where(length == each, begin > start - each, begin < end) for each in LENGTHS)


def meeting(some: Select[Any], table: Table, start: int, end: int) -> Iterator[Select[Any]]:
    """Yield queries for those rows that have a moment of `[start, end)`, to be united."""
    begins, ends = table.c.starts_at, table.c.ends_at
    yield from ranges(some.where(ends > start, ends > begins), table.c.lasts, begins, start, end)
