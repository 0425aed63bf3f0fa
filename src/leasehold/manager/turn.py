"""Whose turn a round of periodic work is that only one of all managers does."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.db.periodic_lock import add_periodic_lock, take_periodic_lock

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.leasing.service import Service


def take_turn(service: Service, kind: str, seconds: float) -> bool:
    """Say whether a round of this kind of work is this manager's; rounds come every so many seconds."""
    try:
        return service.db.transact(partial(_taken, service, kind, seconds))
    except IntegrityError:
        return False


def _taken(service: Service, kind: str, seconds: float, connection: Connection) -> bool:
    now = service.now()
    add_periodic_lock(connection, kind)
    # Our own next round must not find the lock taken.
    return take_periodic_lock(connection, kind, now, now + timedelta(seconds=seconds) * 0.9)
