"""How resources are used now, and when something is promised on them next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import and_, case, func, or_, select

from leasehold.db.tables import allocations
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Use:
    """When something is promised next on a resource that nobody uses now, and since when that is so; None: never."""

    next_start: datetime | None = None
    idle_since: datetime | None = None
    used: bool = False


def use_of(connection: Connection, numbers: Collection[int], now: datetime) -> Mapping[int, Use]:
    """Return how resources are used, by number; one on which nothing was ever promised is left out."""
    here, moment = allocations.c, to_seconds(now)
    real = here.ends_at > here.starts_at
    live = or_(and_(here.ends_at > moment, real), here.released_at.is_(None))
    begun = here.starts_at <= moment
    query = (
        select(
            here.resource_number,
            func.min(case((and_(live, ~begun), here.starts_at))).label("next"),
            func.max(case((~live, here.ends_at))).label("last"),
            func.count(case((and_(live, begun), 1))).label("uses"),
        )
        .where(here.resource_number.in_(numbers))
        .group_by(here.resource_number)
    )
    return {
        row.resource_number: Use(_moment(row.next), _moment(row.last), used=row.uses > 0)
        for row in connection.execute(query)
    }


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else from_seconds(int(seconds))
