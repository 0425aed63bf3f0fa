"""How many offers a project may have open: the limit that keeps it from holding what it does not want (feature I6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.leases.held_offer import count_open_offers
from leasehold.db.project import enter
from leasehold.model.errors import TooManyOffersError

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


def check_offers(connection: Connection, project_id: str, limit: int, now: datetime) -> None:
    """Raise TooManyOffersError if the project may have no further offer.

    Until the transaction ends, other requests of the project for offers wait here, and for no pool.
    """
    enter(connection, project_id)
    if count_open_offers(connection, project_id, now) >= limit:
        raise TooManyOffersError(limit)
