"""Leases, reservations and events as v1 shows them (contract http-api §5.1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from leasehold.api.before_end import show_before_end
from leasehold.api.dates import to_record, to_wire, to_wire_or_none
from leasehold.api.versions import (
    CHAINS,
    DEFAULT_PROPERTIES,
    ENDINGS,
    HEAL_POLICY,
    LAYOUTS,
    LEASE_TYPES,
    OPEN_ENDS,
    PAST,
    REMINDERS,
    SHARING,
    STATUS_REASON,
    Version,
)
from leasehold.model.heal_policy import DEFAULT
from leasehold.model.no_show import NEVER
from leasehold.model.states import LeaseStatus
from leasehold.model.tries import ended_waiting
from leasehold.resource_types.image_results import shown_results
from leasehold.resource_types.layout import KEYS, LaidOut
from leasehold.resource_types.outliving import LIVING
from leasehold.resource_types.shelving import shown_shelved
from leasehold.resource_types.suspending import shown_suspended

if TYPE_CHECKING:
    from leasehold.api.models.lease import EventAnswer, LeaseAnswer, ReservationAnswer
    from leasehold.model.caller import Sight
    from leasehold.model.lease import Event, Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.registry import ResourceTypes

_NEVER = datetime.max.replace(tzinfo=UTC)


REASONS = {
    LeaseStatus.PENDING: "The cloud is not ready for the lease yet; the service tries again automatically.",
    LeaseStatus.STARTING: "The start waits for the cloud; the service tries again automatically.",
    LeaseStatus.ACTIVE: "The cloud does not match the lease yet; the service tries again automatically.",
    LeaseStatus.TERMINATING: "The end waits for the cloud; the service tries again automatically.",
    LeaseStatus.DELETING: "The deletion waits for the cloud; the service tries again automatically.",
    LeaseStatus.ERROR: "The cloud did not do what the lease needs. Ask its operators, who see the reason.",
}
"""Reasons for callers who may not list hosts: the real reason may name hosts and their servers."""


def show_lease(lease: Lease, types: ResourceTypes, version: Version, sight: Sight) -> LeaseAnswer:
    """Return the lease with its reservations and events.

    From microversion 1.1 on also with `status_reason`, from 1.2 on with `heal_policy`, its reminders and its type. The
    reason names no host to callers who may not list hosts.
    """
    answer: LeaseAnswer = {
        "id": lease.id,
        "name": lease.name,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "trust_id": None,
        "start_date": to_wire(lease.window.start),
        "end_date": to_wire(lease.window.end),
        "status": (lease.status if version >= LEASE_TYPES else lease.status.of_v1).value,
        "degraded": lease.degraded,
        "created_at": to_record(lease.created_at),
        "updated_at": to_record(lease.updated_at),
        "reservations": [show_reservation(reservation, types, version) for reservation in lease.reservations],
        "events": [show_event(event) for event in sorted(lease.events, key=_moment)],
    }
    if version >= STATUS_REASON:
        answer["status_reason"] = _reason(lease, sight)
    if version >= HEAL_POLICY:
        answer["heal_policy"] = lease.heal_policy or DEFAULT
        answer["at_risk"] = lease.at_risk
    if version >= REMINDERS:
        answer["reminder_seconds"] = DEFAULT if lease.reminders is None else list(lease.reminders)
    if version >= LEASE_TYPES:
        _add_type(answer, lease)
    if version >= OPEN_ENDS:
        answer["open_ended"] = lease.open_ended
    if version >= SHARING:
        answer["shared_with"] = lease.shared_with
    if version >= PAST and lease.deleted_at is not None:
        answer["deleted_at"] = str(to_record(lease.deleted_at))
    return answer


def _reason(lease: Lease, sight: Sight) -> str | None:
    """Return the status reason, or to callers who may not list hosts one that names none."""
    reason = lease.status_reason
    # Why a lease still waits, or never came, is what a refusal says, and that names no host.
    if reason is None or sight.hosts or lease.waits or ended_waiting(lease):
        return reason
    if lease.status is LeaseStatus.TERMINATING and LIVING in reason:
        return f"Servers {LIVING}, until {lease.counted_window.end:%Y-%m-%d %H:%M} UTC at most; none can be added."
    return REASONS.get(lease.status, REASONS[LeaseStatus.ERROR])


def _add_type(answer: LeaseAnswer, lease: Lease) -> None:
    """Add the type of the lease, and how long it waits; null for one that never had to wait."""
    waiting = lease.waiting
    answer["type"] = lease.type.value
    answer["retries"] = None if waiting is None else waiting.retries
    answer["retry_seconds"] = None if waiting is None else int(waiting.pause.total_seconds())
    answer["deadline"] = None if waiting is None else to_wire_or_none(waiting.deadline)
    answer["tried"] = None if waiting is None else waiting.tried


def _moment(event: Event) -> tuple[datetime, str]:
    """Return the sort key of an event: its time, with events without a time last."""
    return (event.time or _NEVER, event.type)


def show_reservation(reservation: Reservation, types: ResourceTypes, version: Version) -> ReservationAnswer:
    """Return the common fields of the reservation, and those of its resource type.

    From 1.2 on also how it ends, and what became of its servers and their images; from 1.3 on its default properties.
    """
    common: ReservationAnswer = {
        "id": reservation.id,
        "lease_id": reservation.lease_id,
        "resource_id": reservation.resource_id,
        "resource_type": reservation.resource_type,
        "status": reservation.status.value,
        "missing_resources": reservation.missing_resources,
        "resources_changed": reservation.resources_changed,
        "created_at": to_record(reservation.created_at),
        "updated_at": to_record(reservation.updated_at),
    }
    ends = show_ending(reservation) if version >= ENDINGS and types.outlives(reservation) else {}
    if version >= ENDINGS and types.gives_up(reservation):
        no_show = NEVER if reservation.no_show is None else reservation.no_show.after
        ends["no_show_seconds"] = int(no_show.total_seconds())
    answer = {**ends, **_own(reservation, types, version), **common}
    if isinstance(answer.get("before_end"), str):
        answer["before_end"] = show_before_end(version, answer["before_end"])
    if version >= CHAINS and ends:
        answer["suspended"] = shown_suspended(reservation.cloud)
    if version >= DEFAULT_PROPERTIES:
        default = reservation.default_properties
        answer["default_properties"] = None if default is None else default.filter
        answer["default_properties_applied"] = None if default is None else default.applied
    return cast("ReservationAnswer", answer)


def _own(reservation: Reservation, types: ResourceTypes, version: Version) -> dict[str, Any]:
    """Return the fields of a reservation's type; how its resources lie is shown from 1.3 on, null where anyhow."""
    own, found = types.view(reservation), types.find(reservation.resource_type)
    if found is None or not issubclass(found.kind.schema, LaidOut):
        return own
    if version < LAYOUTS:
        return {key: value for key, value in own.items() if key not in KEYS}
    return {**dict.fromkeys(sorted(KEYS)), **own}


def show_ending(reservation: Reservation) -> dict[str, Any]:
    """Return how a reservation ends, and what became of its servers.

    Its own type may show `before_end` in place of this one.
    """
    ending = reservation.ending
    return {
        "before_end": str(ending.before_end),
        "on_end": ending.on_end.value,
        "grace_seconds": int(ending.grace.total_seconds()),
        "recycle_seconds": int(ending.limit.total_seconds()),
        "images": shown_results(reservation.cloud),
        "shelved": shown_shelved(reservation.cloud),
    }


def show_event(event: Event) -> EventAnswer:
    """Return an event of a lease; an event that a client added has neither time nor status."""
    return {
        "id": event.id,
        "lease_id": event.lease_id,
        "event_type": event.type,
        "time": to_wire_or_none(event.time),
        "status": None if event.status is None else event.status.value,
        "created_at": to_record(event.created_at),
        "updated_at": to_record(event.updated_at),
    }
