"""Where the resources of a lease come from: what of them it may see, which changes it allows, and who has them next.

Those of most leases come from the pools, and go back there. A feature may add another source (`Service.sources`), for
the leases that it owns.
"""
# ruff: noqa: ARG002 - the pools need to know less than other sources.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from leasehold.leasing.deciding.decide import seen_by_project, seen_by_users

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.locks import Locks
    from leasehold.model.allocation import Allocation
    from leasehold.model.draft import LeaseChanges
    from leasehold.model.lease import Lease
    from leasehold.model.terms.margins import Margins
    from leasehold.model.windows import Window
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceTypes


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a source is asked with: the pools, locked, as they are now, and what the service knows."""

    connection: Connection
    pools: Mapping[str, Snapshot]
    now: datetime
    types: ResourceTypes
    margins: Margins
    lead_of: Callable[[Iterable[Kind[Any]]], timedelta]


@dataclass(frozen=True, slots=True)
class Release:
    """The transaction that releases resources of a lease; `heir` is the lease, locked, that has them next, if any."""

    locks: Locks
    heir: Lease | None


class Source:
    """The pools: resources that are free for everybody before the lease and after it."""

    makes_room: ClassVar[bool] = True
    """Whether leases that have not started get other resources, so that a new one fits."""
    reallocates: ClassVar[bool] = True
    """Whether an amendment decides anew what the lease has; otherwise that stays, whatever the dates."""

    def owns(self, lease: Lease) -> bool:
        """Say whether the resources of a lease come from here."""
        return True

    # ------------------------------------------------------------ decisions

    def seen_by_new(self, at: Grounds, lease: Lease) -> Mapping[str, Snapshot]:
        """Return the pools as the decision about a new lease may use them; raises an error if it may use nothing."""
        return seen_by_project(at.pools, lease.project_id)

    def seen_by(self, at: Grounds, lease: Lease) -> Mapping[str, Snapshot]:
        """Return the pools as a lease is healed in them."""
        return seen_by_users(at.types, at.pools, lease)

    def check_changes(self, lease: Lease, changes: LeaseChanges) -> None:
        """Raise an error for changes that no lease from here allows."""

    def check_exchange(self, lease: Lease) -> None:
        """Raise an error if the lease may not ask for other resources than it has."""

    def check_healing(self, lease: Lease) -> None:
        """Raise an error if the owner of the lease may not have it healed."""

    def check_window(self, connection: Connection, lease: Lease, window: Window, now: datetime) -> None:
        """Raise an error if the lease, which is locked after its pools, may not get this window."""

    def opened(self, connection: Connection, lease: Lease, projects: Collection[str], now: datetime) -> Collection[int]:
        """Return the numbers of resources that other projects may use if the lease is shared with them.

        Raises an error if it may not be.
        """
        return ()

    # ------------------------------------------------------------ what is released

    def lock_heir(self, connection: Connection, lease: Lease) -> Lease | None:
        """Lock the lease that has next what this one releases, whose pools are locked; None: the pools have it."""
        return None

    def outlasting(self, to: Release, lease: Lease) -> Lease | None:
        """Return a lease in use that is deleted as it keeps what it has until that is clean; None: it keeps nothing."""
        return None

    def ending(self, connection: Connection, job: Convergence[Any], now: datetime) -> Convergence[Any]:
        """Return the work of an end for a reservation, without resources that it must not touch."""
        return job

    def give_back(self, to: Release, lease: Lease, released: Iterable[Allocation]) -> None:
        """Give what is released now, as the allocations were before, to who has it next."""


POOLS = Source()
