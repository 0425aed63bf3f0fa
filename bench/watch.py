"""Polls the database, at little cost, for the leases that have become active."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from sqlalchemy import NullPool, create_engine, select

from leasehold.db.tables import leases

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOK_EVERY: Final = 0.02
PATIENCE: Final = 180.0


def seconds_until_active(
    database_url: str, due: Mapping[str, datetime], *, look_every: float = LOOK_EVERY, patience: float = PATIENCE
) -> dict[str, float]:
    """Return for each lease how long after its due time it was first seen active.

    Raises TimeoutError when one of them is not active `patience` seconds after the last due time.
    """
    lags: dict[str, float] = {}
    deadline = max(due.values()).timestamp() + patience
    engine = create_engine(database_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    query = select(leases.c.id).where(leases.c.status == "ACTIVE")
    with engine.connect() as connection:
        while len(lags) < len(due):
            active = set(connection.execute(query).scalars())
            # Read the clock after the query, so that no lag is too short.
            now = datetime.now(UTC)
            for lease_id in (due.keys() & active) - lags.keys():
                lags[lease_id] = (now - due[lease_id]).total_seconds()
            if now.timestamp() > deadline:
                raise TimeoutError(f"{len(due) - len(lags)} of {len(due)} leases are not active after {patience:g} s.")
            time.sleep(look_every)
    engine.dispose()
    return lags
