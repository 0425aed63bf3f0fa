"""What the external service is sent: a lease and its resources in Blazar's words (contract lifecycle §10.2).

Dates are ISO 8601 in UTC without an offset. A resource is listed once for a reservation, however many of its slots the
reservation has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.db.resources.resource import resources_by_number
from leasehold.model.states import EventType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Pick
    from leasehold.model.draft import LeaseChanges, LeaseDraft
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource

Body = dict[str, Any]
CREATING, UPDATING = "CREATING", "UPDATING"
"""Statuses that a lease has in Blazar while it is asked about; we never store them (decision 0006)."""


@dataclass(frozen=True, slots=True)
class ExternalView:
    """Describes leases with their resources, which it reads by `connection`."""

    service: Service
    connection: Connection

    def creation(self, draft: LeaseDraft, lease: Lease, picks: Sequence[Sequence[Pick]]) -> Body:
        """Return the question about a new lease: the keys of the request, and what it would get."""
        numbers = [_numbers(each) for each in picks]
        found = self._resources(numbers)
        described: Body = {
            "name": lease.name,
            **_dates(lease),
            "before_end_date": _warning(lease),
            "events": [{"event_type": name} for name, _ in draft.events],
            "user_id": lease.user_id,
            "project_id": lease.project_id,
            "status": CREATING,
            "reservations": [
                {**raw, "allocations": _shown(mine, found)}
                for raw, mine in zip(draft.reservations, numbers, strict=True)
            ],
        }
        return {"context": self._context(lease), "lease": described}

    def amendment(self, changes: LeaseChanges, lease: Lease, after: Lease, picks: Mapping[str, Sequence[Pick]]) -> Body:
        """Return the question about an amendment; `picks` are what each reservation would have, by its id."""
        new = {ident: _numbers(each) for ident, each in picks.items()}
        old = {part.id: lasting(part) for part in lease.reservations}
        found = self._resources([*new.values(), *old.values()])
        described: Body = {
            **({} if changes.name is None else {"name": changes.name}),
            **_dates(after),
            **({} if changes.before_end is None else {"before_end_date": _moment(changes.before_end)}),
            "reservations": self._reservations(after, new, found),
        }
        current = {**self._whole(lease, old, found), "status": UPDATING}
        return {"context": self._context(lease), "current_lease": current, "lease": described}

    def end(self, lease: Lease) -> Body:
        """Return the message that a lease has ended, or was deleted before its end."""
        had = {part.id: lasting(part) for part in lease.reservations}
        return {"context": self._context(lease), "lease": self._whole(lease, had, self._resources(had.values()))}

    def _context(self, lease: Lease) -> Body:
        external = self.service.enforcement.external
        cloud = {} if external is None else external.cloud
        return {"user_id": lease.user_id, "project_id": lease.project_id, **cloud}

    def _resources(self, numbers: Iterable[Iterable[int]]) -> Mapping[int, Resource]:
        return resources_by_number(self.connection, (number for each in numbers for number in each))

    def _whole(self, lease: Lease, had: Mapping[str, Sequence[int]], found: Mapping[int, Resource]) -> Body:
        return {
            "id": lease.id,
            "name": lease.name,
            "user_id": lease.user_id,
            "project_id": lease.project_id,
            "trust_id": None,
            **_dates(lease),
            "status": lease.status.value,
            "degraded": lease.degraded,
            **_recorded(lease),
            "reservations": self._reservations(lease, had, found),
            "events": [
                {
                    "id": event.id,
                    "lease_id": lease.id,
                    "event_type": event.type,
                    "time": _moment(event.time),
                    "status": None if event.status is None else event.status.value,
                    **_recorded(event),
                }
                for event in lease.events
            ],
        }

    def _reservations(
        self, lease: Lease, had: Mapping[str, Sequence[int]], found: Mapping[int, Resource]
    ) -> list[Body]:
        return [
            {
                **self.service.types.view(part),
                "id": part.id,
                "lease_id": part.lease_id,
                "resource_id": part.resource_id,
                "resource_type": part.resource_type,
                "status": part.status.value,
                "missing_resources": part.missing_resources,
                "resources_changed": part.resources_changed,
                **_recorded(part),
                "allocations": _shown(had[part.id], found),
            }
            for part in lease.kept
        ]


def lasting(part: Reservation) -> list[int]:
    """Return the numbers of the resources that a reservation has, or had when it ended.

    Those are the allocations that end last: one that an amendment or healing took away ended earlier, or was left.
    """
    kept = [held for held in part.allocations if held.left_at is None]
    last = max((held.window.end for held in kept), default=None)
    return list(dict.fromkeys(held.resource_number for held in kept if held.window.end == last))


def _numbers(picks: Iterable[Pick]) -> list[int]:
    return list(dict.fromkeys(pick.resource_number for pick in picks))


def _shown(numbers: Sequence[int], found: Mapping[int, Resource]) -> list[Body]:
    return [found[number].values for number in numbers if number in found]


def _dates(lease: Lease) -> Body:
    return {"start_date": _moment(lease.window.start), "end_date": _moment(lease.window.end)}


def _recorded(record: Lease | Reservation | Any) -> Body:
    return {"created_at": _moment(record.created_at), "updated_at": _moment(record.updated_at)}


def _warning(lease: Lease) -> str | None:
    event = lease.event(EventType.BEFORE_END)
    return None if event is None else _moment(event.time)


def _moment(time: datetime | None) -> str | None:
    """Return a moment as the protocol writes it; microseconds are left out where they are zero."""
    return None if time is None else time.replace(tzinfo=None).isoformat()
