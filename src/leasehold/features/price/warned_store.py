"""What was told about budgets, and about leases that go on beyond them: the rows by which each thing is told once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Column, Integer, String, delete, insert, select, update

from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

budget_warnings = table(
    "budget_warnings",
    Column("budget_id", String(36), primary_key=True),
    Column("percent", Integer, nullable=False),
    Column("end_told", UtcDateTime),
)
budget_notices = table(
    "budget_notices",
    Column("lease_id", String(36), primary_key=True),
    Column("budget_id", String(36), nullable=False),
    Column("told_at", UtcDateTime, nullable=False),
    Column("lease_end", UtcDateTime, nullable=False),
    Column("ends_at", UtcDateTime),
)


@dataclass(frozen=True, slots=True)
class Warned:
    """Of a budget was told that so many `percent` of it are agreed, 0: nothing; and that it ends at `end_told`."""

    budget_id: str
    percent: int = 0
    end_told: datetime | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """The owner of a lease was told that it goes on beyond a budget, and ends at `ends_at`; None: it runs on.

    `lease_end` is the end that the lease had then.
    """

    lease_id: str
    budget_id: str
    told_at: datetime
    lease_end: datetime
    ends_at: datetime | None = None


def find_warned(connection: Connection, budget_ids: Collection[str]) -> Mapping[str, Warned]:
    """Return what was told of these budgets, of those of which anything was."""
    rows = connection.execute(select(budget_warnings).where(budget_warnings.c.budget_id.in_(budget_ids)))
    return {row.budget_id: Warned(**row._mapping) for row in rows}  # noqa: SLF001 - SQLAlchemy's public name for it


def save_warned(connection: Connection, before: Warned | None, after: Warned) -> bool:
    """Write what was told of a budget; False and nothing is written if that has changed meanwhile.

    Raises IntegrityError if another process is the first to write at the same moment.
    """
    if before is None:
        connection.execute(insert(budget_warnings), asdict(after))
        return True
    seen = [budget_warnings.c[name] == value for name, value in asdict(before).items()]
    return connection.execute(update(budget_warnings).where(*seen).values(asdict(after))).rowcount == 1


def forget_warned(connection: Connection, budget_id: str) -> None:
    """Remove what was told of a budget."""
    connection.execute(delete(budget_warnings).where(budget_warnings.c.budget_id == budget_id))


def all_notices(connection: Connection) -> Sequence[Notice]:
    """Return what was told of all leases that go on beyond a budget."""
    rows = connection.execute(select(budget_notices).order_by(budget_notices.c.told_at, budget_notices.c.lease_id))
    return [Notice(**row._mapping) for row in rows]  # noqa: SLF001 - SQLAlchemy's public name for it


def has_notice(connection: Connection, lease_id: str, known: Notice | None) -> bool:
    """Say whether this is what was told of a lease, whose row is locked; None: nothing was."""
    row = connection.execute(select(budget_notices).where(budget_notices.c.lease_id == lease_id)).first()
    return (None if row is None else Notice(**row._mapping)) == known  # noqa: SLF001 - SQLAlchemy's public name for it


def save_notice(connection: Connection, notice: Notice) -> None:
    """Write what is told of a lease, whose row is locked."""
    forget_notice(connection, notice.lease_id)
    connection.execute(insert(budget_notices), asdict(notice))


def forget_notice(connection: Connection, lease_id: str) -> None:
    """Remove what was told of a lease."""
    connection.execute(delete(budget_notices).where(budget_notices.c.lease_id == lease_id))
