"""The flags of a lease and its reservations: what they say, and the events of their changes (feature J4).

`missing_resources`: the reservation has fewer working resources than it was promised. `resources_changed`: it is active
and has something that healing chose for it, in place of what it had. `degraded`: a reservation of the lease has one of
them. They hold exactly as long as that is so; those of a lease that is over say how it ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.db.outbox import put_event
from leasehold.model.event_log import LeaseNews

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from leasehold.db.together import Writer
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.terms.default_properties import DefaultProperties


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of a reservation, and how much of what it was promised is not allocated, in the unit of its request.

    `missing` None means that it is not known; 0 with `missing_resources` means that it has a failed resource. `default`
    are its default properties after a decision; None leaves them as they are.
    """

    missing_resources: bool = False
    resources_changed: bool = False
    missing: int | None = 0
    default: DefaultProperties | None = None


def with_flags(lease: Lease, found: Mapping[str, Flags]) -> Lease:
    """Return the lease with the flags of these reservations, by id, and its own."""
    for ident, flags in found.items():
        lease = lease.with_reservations(
            {ident},
            missing_resources=flags.missing_resources,
            resources_changed=flags.resources_changed,
            missing=flags.missing if flags.missing_resources else None,
        )
        if flags.default is not None:
            lease = lease.with_reservations({ident}, default_properties=flags.default)
    flagged = any(part.missing_resources or part.resources_changed for part in lease.reservations)
    return replace(lease, degraded=flagged)


def changed(part: Reservation, held: Iterable[Allocation], *, substitutes: bool) -> bool:
    """Return `resources_changed` of a reservation that had the `held` allocations and now has `substitutes` or none.

    A flag that no substitute explains was set by Blazar or by an older version, and stays.
    """
    return substitutes or (part.resources_changed and not any(each.substitute for each in held))


def put_flag_event(connection: Writer, before: Lease, after: Lease, now: datetime) -> None:
    """Record the event of a change of flags: DEGRADED if one is set, RESTORED if flags are only cleared."""
    old, new = _flags_of(before), _flags_of(after)
    if old != new:
        put_event(connection, LeaseNews.DEGRADED if new - old else LeaseNews.RESTORED, after, now)


def _flags_of(lease: Lease) -> set[tuple[str, str]]:
    """Return the flags that are set, each with what it is a flag of."""
    missing = {(part.id, "missing") for part in lease.reservations if part.missing_resources}
    changed = {(part.id, "changed") for part in lease.reservations if part.resources_changed}
    return missing | changed | ({(lease.id, "degraded")} if lease.degraded else set())
