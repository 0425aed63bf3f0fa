"""Column types that read the same on SQLite, MariaDB and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, DateTime, Integer, TypeDecorator
from sqlalchemy.dialects import mysql

if TYPE_CHECKING:
    from sqlalchemy import Dialect

BigKey = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit key that the database counts up; SQLite only does that for INTEGER, which is 64 bits there anyway."""


EXACT: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_nopad_bin",
}
"""Options of every table: names compare exactly on every database.

MariaDB's own default takes `a` for `A`, and its plain binary collation still takes `a` for `a` with a blank after it.
"""

COUNTED: dict[str, Any] = {"sqlite_autoincrement": True}
"""Options of a table whose keys are never given twice, not even when the newest row is gone; others do so anyway."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in aware UTC with microseconds, stored without a zone.

    No database here keeps a zone the same way, so UTC is stored, and that is said in this one place. A naive moment is
    refused: it is a bug on our side.
    """

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect):  # type: ignore[no-untyped-def]  # noqa: ANN201 - SQLAlchemy leaves the return type open
        """Ask MariaDB for microseconds, which its plain DATETIME drops."""
        if dialect.name in ("mysql", "mariadb"):
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """Take the zone off on the way in."""
        if value is None:
            return None
        if value.tzinfo is None:
            message = f"The database takes only moments with a time zone, got {value!r}."
            raise ValueError(message)
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """Put the zone back on the way out, unless the driver did."""
        return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)
