"""What a filter may know beside the lease itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Deciding:
    """The transaction that decides about a lease, for rules that look into the database, and its moment."""

    connection: Connection
    now: datetime
