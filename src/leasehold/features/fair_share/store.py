"""The tables of fair share: what projects and users have used, and up to which moment that is counted.

A row is written when its use grows, and counts less by itself from then on. What was held is read from the core's
record, in sums over all that has the same owner, type and bounds: most of what is held, is so all along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    String,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    union_all,
    update,
)

from leasehold.db.segment import BEGIN, SOURCE
from leasehold.db.tables import allocations, leases, reservations, segments, table
from leasehold.features.fair_share.model import WHOLE, Held, Use
from leasehold.model.resource import MAINTENANCE
from leasehold.model.terms.waiting import AskedPart

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from sqlalchemy import ColumnElement, Connection, Row

uses = table(
    "fair_share_uses",
    Column("project_id", String(255), primary_key=True),
    Column("user_id", String(255), primary_key=True),
    Column("used", Double, nullable=False),
    Column("used_at", BigInteger, nullable=False),
)
counted = table(
    "fair_share_counted",
    Column("name", String(16), primary_key=True),
    Column("until", BigInteger, nullable=False),
    Column("terms", String(64), nullable=False),
)
"""One row. `terms` is a digest of what the uses were counted by: with another one they are counted anew."""
_ROW: Final = "uses"
_IS_ROW = counted.c.name == _ROW
_OWNER: Final = ("project_id", "user_id", "resource_type")
_WHOSE = leases.c.project_id, leases.c.user_id, reservations.c.resource_type
_USED: Final[dict[str, Any]] = {"used": bindparam("more"), "used_at": bindparam("now")}
_GROW = (
    update(uses).where(uses.c.project_id == bindparam("project"), uses.c.user_id == bindparam("user")).values(**_USED)
)
_ADD = insert(uses).values(project_id=bindparam("project"), user_id=bindparam("user"), **_USED)


def counted_until(connection: Connection, terms: str) -> int | None:
    """Return up to which moment use is counted by these terms; None if it is not, and then nothing of it is kept."""
    row = connection.execute(select(counted).where(_IS_ROW)).first()
    if row is not None and row.terms == terms:
        until: int = row.until
        return until
    connection.execute(delete(counted))
    connection.execute(delete(uses))
    return None


def begin_count(connection: Connection, since: int, terms: str) -> None:
    """Note that nothing is counted yet; raises IntegrityError if another process does so at the same moment."""
    connection.execute(insert(counted), {"name": _ROW, "until": since, "terms": terms})


def count_on(connection: Connection, since: int, until: int) -> bool:
    """Move the moment up to which use is counted, and say whether nobody else has done so since."""
    move = update(counted).where(_IS_ROW, counted.c.until == since).values(until=until)
    return connection.execute(move).rowcount == 1


def first_held(connection: Connection) -> int | None:
    """Return when the first that is recorded or in the book was held; None if nothing was."""
    found = [connection.execute(select(func.min(each.c.starts_at))).scalar_one() for each in (segments, allocations)]
    return min((each for each in found if each is not None), default=None)


def held_in(connection: Connection, since: int, until: int, weight: Callable[[str], float]) -> Iterator[Held]:
    """Yield what was held in a window that is over, in sums; one statement. Maintenance is nobody's use."""
    recorded = select(
        *(segments.c[name] for name in _OWNER),
        segments.c.slots,
        *_clipped(segments.c, segments.c.starts_at, since, until),
    ).where(segments.c.ends_at > since, segments.c.starts_at < until)
    rest = (
        select(*_WHOSE, allocations.c.slots, *_clipped(allocations.c, BEGIN, since, until))
        .select_from(SOURCE)
        # What a vacated resource was held before is recorded.
        .where(allocations.c.left_at.is_(None), allocations.c.ends_at > BEGIN)
        .where(allocations.c.ends_at > since, until > BEGIN)
    )
    all_ = union_all(recorded, rest).subquery()
    same = [all_.c[name] for name in (*_OWNER, "begins", "ends")]
    query = select(*same, func.sum(all_.c.slots).label("units")).where(all_.c.resource_type != MAINTENANCE)
    for row in connection.execute(query.group_by(*same)):
        units = float(row.units) * weight(row.resource_type)
        if units:
            yield Held(row.project_id, row.user_id, units, int(row.begins), int(row.ends))


def _clipped(columns: Any, begin: Any, since: int, until: int) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    end = columns.ends_at
    return (
        case((begin < since, since), else_=begin).label("begins"),
        case((end > until, until), else_=end).label("ends"),
    )


def all_uses(connection: Connection) -> dict[tuple[str, str], Use]:
    """Return all that is counted, by project and user."""
    return {(row.project_id, row.user_id): _use(row) for row in connection.execute(select(uses))}


def uses_of(connection: Connection, users: Collection[tuple[str, str]]) -> dict[tuple[str, str], Use]:
    """Return what these users of projects have used, and under an empty user what the projects have; one statement."""
    projects, names = {project for project, _ in users}, {WHOLE, *(user for _, user in users)}
    query = select(uses).where(uses.c.project_id.in_(sorted(projects)), uses.c.user_id.in_(sorted(names)))
    return {(row.project_id, row.user_id): _use(row) for row in connection.execute(query)}


def keep_uses(
    connection: Connection, there: AbstractSet[tuple[str, str]], changed: Mapping[tuple[str, str], Use]
) -> None:
    """Write the uses that have changed; those that are `there` have a row."""
    for statement, keys in ((_GROW, changed.keys() & there), (_ADD, changed.keys() - there)):
        rows = [
            {"project": key[0], "user": key[1], "more": changed[key].used, "now": changed[key].at}
            for key in sorted(keys)
        ]
        if rows:
            connection.execute(statement, rows)


def forget_uses(connection: Connection, before: int) -> None:
    """Remove the uses that have not grown since a moment: nothing is left of them."""
    connection.execute(delete(uses).where(uses.c.used_at < before))


def asked_by_waiting(connection: Connection) -> dict[str, tuple[AskedPart, ...]]:
    """Return what each lease that waits asks for, by its id; one statement."""
    query = (
        select(leases.c.id, leases.c.start_at, leases.c.end_at, reservations.c.resource_type, reservations.c.request)
        .join(reservations, reservations.c.lease_id == leases.c.id)
        .where(leases.c.waiting_since.is_not(None))
    )
    found: dict[str, tuple[AskedPart, ...]] = {}
    for row in connection.execute(query):
        part = AskedPart(row.resource_type, row.request, row.end_at - row.start_at)
        found[row.id] = (*found.get(row.id, ()), part)
    return found


def _use(row: Row[Any]) -> Use:
    return Use(row.used, row.used_at)
