"""Give a lease that has not started other dates in the transaction of another decision, on the pools as that sees them.

It is the amendment that its owner could ask for; but nobody asks, so nobody else makes room for it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.db.project_use import KnownUse
from leasehold.enforcement.external import ExternalCall
from leasehold.leasing.amend import Amending
from leasehold.leasing.amended import Amendment
from leasehold.leasing.approval import UNASKED
from leasehold.leasing.deciding.allocations import pools_of
from leasehold.leasing.unit import PLAIN, Unit
from leasehold.model.draft import LeaseChanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Beside(Unit):
    """The part of a transaction that is about one of its leases; `views` are its pools with what was decided before."""

    views: Mapping[str, Snapshot]

    @property
    def explains(self) -> bool:
        """A refusal needs no explanation."""
        return False

    @contextmanager
    def snapshots(self, locks: Locks) -> Iterator[dict[str, Snapshot]]:  # noqa: ARG002 - they are those of the decision
        """Yield the pools."""
        yield dict(self.views)


def reschedule(
    service: Service, locks: Locks, views: Mapping[str, Snapshot], lease: Lease, window: Window
) -> Decision | None:
    """Return the decision that gives a lease, as it was seen, another window; its pools are among those of the locks.

    None if its project may not have it then, or another service would have to be asked. The lease is locked, after
    its pools. Raises RefusedError if it does not fit, ChangedMeanwhileError, and the errors of an amendment.
    """
    if service.enforcement.asks(ExternalCall.UPDATE, lease.project_id):
        return None
    amendment = Amendment(LeaseChanges(start=window.start, end=window.end), {})
    # What projects use is locked before pools, so it is only read here.
    use = KnownUse.read(locks.connection, lease.project_id, lease.user_id, service.types.whole)
    unit = Beside(service, locks.connection, PLAIN, UNASKED, {}, use, views)
    if not service.enforcement.would_update(lease, amendment.in_window(lease, window, locks.now), unit.deciding):
        return None
    pools = frozenset(pools_of(lease, service.types))
    return replace(Amending(lease, amendment, pools).decided(unit, locks, None), due=locks.now)
