"""What a filter may use beside the lease itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Deciding:
    """The transaction that decides about a lease, for filters that query the database, and its moment `now`."""

    connection: Connection
    now: datetime
