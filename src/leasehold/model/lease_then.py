"""A lease as it was: a change that is recorded, and what it was and held at a moment (feature L9, decision 0084)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.model.actor import Actor
    from leasehold.model.lease import Lease
    from leasehold.model.segment import Segment


@dataclass(frozen=True, slots=True)
class LeaseChange:
    """A change of a lease at a moment, and the lease after it, without allocations.

    `type` is the event that told of it, None if none did. `whole` False means that an older version has recorded it,
    and that the lease has only what everybody was told of it. `actor` is who has asked for the change, None if
    Leasehold itself made it or, of one that is not whole, if it is not known.
    """

    id: str
    time: datetime
    type: str | None
    lease: Lease
    whole: bool
    actor: Actor | None


@dataclass(frozen=True, slots=True)
class LeaseThen:
    """A lease as it was at a moment, without allocations, and what it held then."""

    lease: Lease
    held: Sequence[Segment]
