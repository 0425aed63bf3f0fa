"""Leases, reservations and events as v1 shows them (contract http-api §5.1)."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import starmap
from operator import itemgetter
from typing import TYPE_CHECKING, Any

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
    PUBLISHED_OFFERS,
    PURPOSES,
    REMINDERS,
    SHARING,
    STATUS_REASON,
    SUB_LEASES,
    Version,
)
from leasehold.model.states import LeaseStatus, ReservationStatus
from leasehold.model.terms.heal_policy import DEFAULT
from leasehold.model.terms.no_show import NEVER
from leasehold.model.terms.notice import seconds_of
from leasehold.model.tries import ended_waiting
from leasehold.resource_types.capabilities import GivingUp, Outliving
from leasehold.resource_types.end_actions.chain import ACTIONS
from leasehold.resource_types.layout import KEYS, LaidOut
from leasehold.resource_types.outliving import LIVING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leasehold.api.models.lease import EventAnswer, LeaseAnswer, NoticeAnswer, ReservationAnswer
    from leasehold.model.caller import Sight
    from leasehold.model.lease import EventFields, Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.registry import ResourceTypes

_NEVER = datetime.max.replace(tzinfo=UTC)
_WORDS = {each: each.value for each in (*LeaseStatus, *ReservationStatus)}
"""Each status as a plain text: `value` of an enumeration is a function of Python."""
_WORDS_OF_V1 = {each: each.of_v1.value for each in LeaseStatus}


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
    """Return the lease with its reservations and events, as `lease_view` does."""
    return lease_view(types, version, sight)(lease, lease.event_fields)


def lease_view(
    types: ResourceTypes, version: Version, sight: Sight
) -> Callable[[Lease, Iterable[EventFields]], LeaseAnswer]:
    """Return what shows leases with their reservations, and the events that have these fields.

    What depends on the version and on the resource types alone is decided once, and not for each lease of a list. From
    microversion 1.1 on they have a `status_reason` (at 1.0 those that wait or were not granted in time), from 1.2 on a
    `heal_policy`, their reminders and their type. The reason names no host to callers who may not list hosts.
    """
    words: Mapping[LeaseStatus, str] = _WORDS if version >= LEASE_TYPES else _WORDS_OF_V1
    additions = [add for since, add in _ADDITIONS if version >= since]
    if version < STATUS_REASON:
        additions.append(_add_reason_of_waiting)
    views: dict[str, Callable[[Reservation], ReservationAnswer]] = {}

    def show_part(part: Reservation) -> ReservationAnswer:
        view = views.get(part.resource_type)
        if view is None:
            view = views[part.resource_type] = reservation_view(part.resource_type, types, version)
        return view(part)

    def show(lease: Lease, moments: Iterable[EventFields]) -> LeaseAnswer:
        answer: LeaseAnswer = {
            "id": lease.id,
            "name": lease.name,
            "user_id": lease.user_id,
            "project_id": lease.project_id,
            "trust_id": None,
            "start_date": to_wire(lease.window.start),
            "end_date": to_wire(lease.window.end),
            "status": words[lease.status],
            "degraded": lease.degraded,
            "created_at": to_record(lease.created_at),
            "updated_at": to_record(lease.updated_at),
            "reservations": list(map(show_part, lease.reservations)),
            "events": list(starmap(show_event, _in_order(moments))),
        }
        for add in additions:
            add(answer, lease, sight)
        return answer

    return show


def _add_reason(answer: LeaseAnswer, lease: Lease, sight: Sight) -> None:
    answer["status_reason"] = reason_of(lease, sight)


def _add_reason_of_waiting(answer: LeaseAnswer, lease: Lease, sight: Sight) -> None:
    """Say to 1.0 why, where PENDING or ERROR stands for a status that it does not know."""
    if lease.waits or ended_waiting(lease):
        _add_reason(answer, lease, sight)


def _add_heal_policy(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    answer["heal_policy"] = lease.heal_policy or DEFAULT
    answer["at_risk"] = lease.at_risk


def _add_reminders(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    answer["reminder_seconds"] = DEFAULT if lease.reminders is None else list(lease.reminders)


def _add_published_offer(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    answer["published_offer"] = lease.published_offer


def _add_open_end(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    answer["open_ended"] = lease.open_ended


def _add_sharing(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    answer["shared_with"] = lease.shared_with


def _add_parent(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    answer["parent_id"] = None if lease.lent is None else lease.lent.lease_id


def show_notice(lease: Lease) -> NoticeAnswer:
    """Return how long ahead the holder is told that what the lease has is taken back, and since when it is."""
    notice = lease.notice
    since = None if notice is None or notice.since is None else to_wire(notice.since)
    return {"notice_seconds": seconds_of(notice), "taken_back_at": since}


def _add_notice(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    notice = show_notice(lease)
    answer["notice_seconds"], answer["taken_back_at"] = notice["notice_seconds"], notice["taken_back_at"]


def _add_deletion(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    if lease.deleted_at is not None:
        answer["deleted_at"] = str(to_record(lease.deleted_at))


def _add_purpose(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    if lease.purpose is not None:
        answer["purpose"] = lease.purpose


def reason_of(lease: Lease, sight: Sight) -> str | None:
    """Return the status reason, or to callers who may not list hosts one that names none."""
    reason = lease.status_reason
    # Why a lease still waits, or never came, is what a refusal says, and that names no host.
    if reason is None or sight.hosts or lease.waits or ended_waiting(lease):
        return reason
    if lease.status is LeaseStatus.TERMINATING and LIVING in reason:
        return f"Servers {LIVING}, until {lease.counted_window.end:%Y-%m-%d %H:%M} UTC at most; none can be added."
    return REASONS.get(lease.status, REASONS[LeaseStatus.ERROR])


def _add_type(answer: LeaseAnswer, lease: Lease, _sight: Sight) -> None:
    """Add the type of the lease, and how long it waits; null for one that never had to wait."""
    waiting = lease.waiting
    answer["type"] = lease.type.value
    answer["retries"] = None if waiting is None else waiting.retries
    answer["retry_seconds"] = None if waiting is None else int(waiting.pause.total_seconds())
    answer["deadline"] = None if waiting is None else to_wire_or_none(waiting.deadline)
    answer["tried"] = None if waiting is None else waiting.tried


_ADDITIONS: Sequence[tuple[Version, Callable[[LeaseAnswer, Lease, Sight], None]]] = (
    (STATUS_REASON, _add_reason),
    (HEAL_POLICY, _add_heal_policy),
    (REMINDERS, _add_reminders),
    (LEASE_TYPES, _add_type),
    (OPEN_ENDS, _add_open_end),
    (SHARING, _add_sharing),
    (PUBLISHED_OFFERS, _add_published_offer),
    (SUB_LEASES, _add_parent),
    (SUB_LEASES, _add_notice),
    (PAST, _add_deletion),
    (PURPOSES, _add_purpose),
)
"""What leases have more from a version on, in the order in which it is shown."""


_TIME_AND_TYPE = itemgetter(3, 2)


def _in_order(moments: Iterable[EventFields]) -> list[EventFields]:
    """Return events by their time, those without one last."""
    try:
        return sorted(moments, key=_TIME_AND_TYPE)
    except TypeError:  # One has no time; to ask each of them first would take longer than to sort them.
        return sorted(moments, key=_moment)


def _moment(moment: EventFields) -> tuple[datetime, str]:
    time, kind = _TIME_AND_TYPE(moment)
    return (time or _NEVER, kind)


def reservation_view(
    resource_type: str, types: ResourceTypes, version: Version
) -> Callable[[Reservation], ReservationAnswer]:
    """Return what shows the reservations of a resource type: their common fields, and those of the type.

    From 1.2 on also how they end, and what became of their servers and their images; from 1.3 on their default
    properties.
    """
    found, own_fields = types.find(resource_type), types.view_of(resource_type)
    outlives = version >= ENDINGS and found is not None and isinstance(found.driver, Outliving)
    gives_up = version >= ENDINGS and found is not None and isinstance(found.driver, GivingUp)
    laid_out = found is not None and issubclass(found.kind.schema, LaidOut)
    results = [(each.results, each.shown) for each in ACTIONS.values() if version >= each.since]
    chains, defaults = version >= CHAINS, version >= DEFAULT_PROPERTIES

    def show(reservation: Reservation) -> ReservationAnswer:
        ends: dict[str, Any] = {}
        if outlives:
            ends = show_ending(reservation)
            for name, shown_results in results:
                ends[name] = shown_results(reservation.cloud)
        if gives_up:
            no_show = NEVER if reservation.no_show is None else reservation.no_show.after
            ends["no_show_seconds"] = int(no_show.total_seconds())
        own = own_fields(reservation)
        answer: Any = {  # a ReservationAnswer, with what its type adds
            **ends,
            **(_with_layout(own, version) if laid_out else own),
            "id": reservation.id,
            "lease_id": reservation.lease_id,
            "resource_id": reservation.resource_id,
            "resource_type": resource_type,
            "status": _WORDS[reservation.status],
            "missing_resources": reservation.missing_resources,
            "resources_changed": reservation.resources_changed,
            "created_at": to_record(reservation.created_at),
            "updated_at": to_record(reservation.updated_at),
        }
        if chains and isinstance(answer.get("before_end"), str):
            answer["before_end"] = show_before_end(version, answer["before_end"])
        if defaults:
            default = reservation.default_properties
            answer["default_properties"] = None if default is None else default.filter
            answer["default_properties_applied"] = None if default is None else default.applied
        shown: ReservationAnswer = answer
        return shown

    return show


def _with_layout(own: dict[str, Any], version: Version) -> dict[str, Any]:
    """Return a type's own fields; how its resources lie is shown from 1.3 on, null where anyhow."""
    if version >= LAYOUTS:
        return {**dict.fromkeys(sorted(KEYS)), **own}
    return own if KEYS.isdisjoint(own) else {key: value for key, value in own.items() if key not in KEYS}


def show_ending(reservation: Reservation) -> dict[str, Any]:
    """Return how a reservation ends.

    Its own type may show `before_end` in place of this one.
    """
    ending = reservation.ending
    return {
        "before_end": str(ending.before_end),
        "on_end": ending.on_end.value,
        "grace_seconds": int(ending.grace.total_seconds()),
        "recycle_seconds": int(ending.limit.total_seconds()),
    }


def show_event(
    ident: str,
    lease_id: str,
    event_type: str,
    time: datetime | None,
    status: str | None,
    created_at: datetime | None,
    updated_at: datetime | None,
) -> EventAnswer:
    """Return an event of a lease; an event that a client added has neither time nor status."""
    return {
        "id": ident,
        "lease_id": lease_id,
        "event_type": event_type,
        "time": None if time is None else to_wire(time),
        "status": None if status is None else str(status),
        "created_at": to_record(created_at),
        "updated_at": to_record(updated_at),
    }
