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

    from sqlalchemy import Select, Table

LASTS: Final = "CASE {} ELSE {} END".format(
    " ".join(f"WHEN ends_at - starts_at <= {each} THEN {each}" for each in LENGTHS[:-1]), LENGTHS[-1]
)


def lasting() -> Column[int]:
    """Return the column, which the database computes of `starts_at` and `ends_at`."""
    return Column("lasts", BigInteger, Computed(LASTS))


def meeting(some: Select[Any], table: Table, start: int, end: int) -> Iterator[Select[Any]]:
    """Yield queries for those rows that have a moment of `[start, end)`, which are to be united.

    One query for each length, as in `db/leases/holding.py`.
    """
    begins, ends = table.c.starts_at, table.c.ends_at
    met = some.where(begins < end, ends > start, ends > begins)
    yield from (met.where(table.c.lasts == each, begins > start - each) for each in LENGTHS)
