"""What a filter may use beside the lease itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.model.reservation import Reservation
    from leasehold.model.use import Use


class Amounts(Protocol):
    """What the resource types know about the amounts of requests."""

    @property
    def whole(self) -> Mapping[str, str]:
        """By pool, the amount of `Use` in which a whole resource counts 1."""

    def amount(self, part: Reservation) -> int:
        """Return the most that a reservation may get, in the noun of its type."""

    def use(self, part: Reservation) -> Use:
        """Return the most that a reservation may use of what a project may be limited in."""

    def noun(self, resource_type: str) -> str:
        """Return what the amounts of a type count, for people."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """The transaction that decides about a lease, for filters that query the database, and its moment `now`.

    `types` tells the amounts of requests.
    """

    connection: Connection
    now: datetime
    types: Amounts
