"""Maintenance windows: what an operator asks for, and what becomes of the leases on the hosts (feature C7, idea 20)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.errors import InUseError
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.model.lease import Lease


class OnConflict(StrEnum):
    """What to do if leases have the hosts in the window."""

    REFUSE = "refuse"
    """Refuse the window."""
    MOVE = "move"
    """Give the leases other hosts; refuse the window if one of them has started, or finds none."""
    WARN = "warn"
    """The same, but leases that have started stay where they are, and their owners are warned."""
    FORCE = "force"
    """The same, and leases that find no other hosts lose these, and are told; healing finds them others later."""


class LeaseFate(StrEnum):
    """What would become of a lease that has a host in the window."""

    MOVES = "moves"
    """Other hosts take the place of those in maintenance."""
    STARTED = "started"
    """It has started, so it is not moved."""
    STUCK = "stuck"
    """It has not started, and finds no other hosts; or it is an offer, which keeps what it shows."""
    LOSES = "loses"
    """It has not started, and loses hosts for which it finds no others."""


@dataclass(frozen=True, slots=True)
class MaintenanceDraft:
    """A requested window, with the ids of its hosts; one that is open-ended ends at OPEN_END."""

    name: str
    start: datetime
    end: datetime
    hosts: Sequence[str]
    on_conflict: OnConflict = OnConflict.REFUSE


@dataclass(frozen=True, slots=True)
class Concerned:
    """A lease that has a host in the window, and what would become of it."""

    lease: Lease
    fate: LeaseFate

    def allowed(self, on_conflict: OnConflict) -> bool:
        """Say whether the window may be made although the lease has this fate.

        An offer is waited for in any case: it lapses soon, and would be accepted on a host of the window.
        """
        if self.fate is LeaseFate.MOVES:
            return on_conflict is not OnConflict.REFUSE
        if on_conflict is OnConflict.FORCE:
            return self.lease.status is not LeaseStatus.OFFERED
        return self.fate is LeaseFate.STARTED and on_conflict is OnConflict.WARN


class MaintenanceConflictError(InUseError):
    """Leases have the hosts in the maintenance window, and the request does not say that they may."""

    code = "leasehold.maintenance.conflict"
