"""Column types that read the same on SQLite, MariaDB and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from json import JSONDecoder
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, DateTime, Integer, TypeDecorator
from sqlalchemy.dialects import mysql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Dialect

BigKey = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit key that the database generates; SQLite does that only for INTEGER, which has 64 bits there anyway."""


CONVENTION: Mapping[str, str] = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}
"""The names of what belongs to a table."""

EXACT: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_nopad_bin"}
"""Options of every table: names compare exactly on every database.

MariaDB's default collation treats `a` and `A` as equal, and its plain binary collation ignores trailing blanks.
"""

COUNTED: dict[str, Any] = {"sqlite_autoincrement": True}
"""Options of a table whose keys are never reused, even after the newest row is removed; only SQLite needs one."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in aware UTC with microseconds, stored without a zone.

    Each database keeps zones in another way, so this type stores UTC without one. A naive moment raises ValueError,
    because it is a bug in our code.
    """

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect):  # type: ignore[no-untyped-def]  # noqa: ANN201 - SQLAlchemy leaves the return type open
        """Ask MariaDB for microseconds, which its plain DATETIME drops."""
        if dialect.name in ("mysql", "mariadb"):
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """Convert to UTC and remove the zone before storing."""
        if value is None:
            return None
        if value.tzinfo is None:
            message = f"The database takes only moments with a time zone, got {value!r}."
            raise ValueError(message)
        return value.astimezone(UTC).replace(tzinfo=None)

    def bind_processor(self, dialect: Dialect) -> Callable[[datetime | None], Any] | None:
        """Return what makes the driver's value of a moment; most moments of a transaction are the same few."""
        process = super().bind_processor(dialect)
        if process is None:
            return None
        known = lru_cache(maxsize=1024)(process)
        # Two moments of another zone may be equal and not the same, when clocks are set back.
        return lambda value: known(value) if value is None or value.tzinfo is UTC else process(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:  # noqa: ARG002 - signature is SQLAlchemy's
        """Return what makes an aware moment of the driver's value; SQLite's driver gives text.

        A long list has hundreds of thousands of dates, and most of them repeat: each result is kept for a while.
        """
        return _of_text if dialect.name == "sqlite" else _with_zone


@lru_cache(maxsize=8192)
def _of_text(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}+00:00")


@lru_cache(maxsize=8192)
def _with_zone(value: datetime | None) -> datetime | None:
    return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


_NOTHING = "{}"
# What `raw_decode` calls: a function in Python is between, for each value.
_scan: Callable[[str, int], tuple[Any, int]] = JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in its stub


def read_moment(value: Mapping[str, Any], name: str) -> datetime | None:
    """Return the moment that a JSON object has under this name; None if it has none."""
    text = value.get(name)
    return None if text is None else datetime.fromisoformat(text)


def read_json(text: str) -> Any:
    """Return what a column of JSON holds that was read as `JsonText`.

    SQLAlchemy's own type for JSON calls three functions for each value, NULL included, and a long list has tens of
    thousands of them.
    """
    return {} if text == _NOTHING else _scan(text, 0)[0]
