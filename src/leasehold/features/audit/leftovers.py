"""Find cloud objects of reservations that are over or unknown.

Those of unknown reservations may belong to another installation, or date from before a restore of the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.resources.owners import owners
from leasehold.db.task import LEASE
from leasehold.db.work import IDLE, work_of
from leasehold.leasing.steps.leftovers import objects_of_ours
from leasehold.model.finding import REPAIR, Finding, FindingKind, Mend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leasehold.leasing.service import Service
    from leasehold.resource_types.look import CloudObject, Look
    from leasehold.resource_types.registry import ResourceType

_UNKNOWN = (
    "Another installation may use it, or it dates from before a restore of the database. If it is unused, remove it by "
    "hand."
)


def audit_leftovers(service: Service, look: Look, types: Iterable[ResourceType]) -> Iterator[Finding]:
    """Yield a finding for each reservation that is over or unknown and has cloud objects; reads the cloud first."""
    things: dict[str, list[CloudObject]] = {}
    for thing in objects_of_ours(look, types):
        things.setdefault(thing.reservation_id, []).append(thing)
    now = service.now()
    with service.db.reading() as connection:
        known = owners(connection, things.keys())
        over = {ident: owner.lease_id for ident, owner in known.items() if owner.over}
        leases = sorted(set(over.values()))
        busy = {lease_id for lease_id in leases if (work_of(connection, LEASE, lease_id) or IDLE).busy(now)}
    for ident, found in sorted(things.items()):
        has = ", ".join(map(str, found))
        if ident not in known:
            what = f"The reservation {ident} is not in the database, but the cloud has: {has}."
            yield Finding(FindingKind.LEFTOVER, ident, what, _UNKNOWN)
        elif ident in over and over[ident] not in busy:
            what = f"The reservation {ident} of lease {over[ident]} is over, but the cloud still has: {has}."
            yield Finding(FindingKind.LEFTOVER, ident, what, REPAIR, Mend.REMOVAL)
