"""What a new lease asks for, and the lease before it is decided: nothing is written here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold.leasing.dates import warning_time
from leasehold.leasing.deciding.decide import Asked
from leasehold.leasing.deciding.default_properties import default_of
from leasehold.leasing.requests import Read, ending_of, no_show_of, place_of, read_requests
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import InvalidDateError, MissingParameterError
from leasehold.model.lease import Event, Lease
from leasehold.model.reminder import armed
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from leasehold.model.terms.ending import DELETED_AT_ONCE
from leasehold.model.terms.no_show import NEVER, NoShow
from leasehold.resource_types.capabilities import GivingUp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, timedelta

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.draft import LeaseDraft
    from leasehold.model.windows import Window


def read_reservations(
    service: Service,
    caller: Caller,
    raws: Sequence[Mapping[str, Any]],
    sight: Sight = EVERYTHING,
    place: Callable[[int], str] = place_of,
) -> list[Asked]:
    """Return what these reservations of a new lease ask for; this may call the cloud.

    `place` returns the path of a reservation in the client's request. Raises the errors of `create_lease` for what is
    wrong with them at any time.
    """
    service.enforcement.check_count(caller.project_id, len(raws))
    reading = read_requests(service, caller, sight, raws, partial(_read, service), place)
    return [
        Asked(
            part.type.kind,
            part.request,
            place=place(position),
            hidden=reading.hidden,
            ending=part.ending,
            no_show=NoShow(part.no_show) if part.no_show else None,
            default=default_of(service.settings.leases, part.type.kind, part.request),
        )
        for position, part in enumerate(reading.parts)
    ]


def _read(service: Service, raw: Mapping[str, Any]) -> Read:
    if "resource_type" not in raw:
        raise MissingParameterError("resource_type")
    found = service.types.offered(raw["resource_type"])
    request = found.kind.parse(found.kind.asked(raw))
    usual = service.settings.leases.no_show if isinstance(found.driver, GivingUp) else NEVER
    ending, no_show = ending_of(service, found, raw, DELETED_AT_ONCE), no_show_of(service, found, raw, usual)
    found.kind.check_ending(request, ending)
    return Read(found, request, ending=ending, no_show=no_show)


def new_lease(
    service: Service, caller: Caller, draft: LeaseDraft, asked: Sequence[Asked], window: Window, now: datetime
) -> Lease:
    """Return the lease that the caller asks for, PENDING, in this window; raises OutOfWindowError for its warning."""
    lease_id, lead = str(uuid4()), service.lead_of(part.kind for part in asked)
    reservations = tuple(
        Reservation(
            id=str(uuid4()),
            lease_id=lease_id,
            resource_type=part.kind.name,
            resource_id=str(uuid4()),
            request=part.stored,
            created_at=now,
            updated_at=now,
            ending=part.ending if draft.notice is None else replace(part.ending, notice=draft.notice),
            no_show=part.no_show,
            default_properties=part.default,
        )
        for part in asked
    )
    lease = Lease(
        id=lease_id,
        name=draft.name,
        user_id=caller.user_id,
        project_id=caller.project_id,
        window=window,
        status=LeaseStatus.PENDING,
        created_at=now,
        updated_at=now,
        reservations=reservations,
        events=_events(service, draft, lease_id, window, now, lead),
        heal_policy=draft.heal_policy,
        type=draft.type,
        reminders=draft.reminders,
        published_offer=draft.published_offer,
        purpose=draft.purpose,
    )
    return armed(lease, now, service.settings.manager.warn_before_end)


def _events(
    service: Service, draft: LeaseDraft, lease_id: str, window: Window, now: datetime, lead: timedelta
) -> tuple[Event, ...]:
    times = {EventType.START: window.start - lead, EventType.END: window.end}
    warning = warning_time(window, draft.before_end, service.settings.leases.before_end)
    if warning is not None:
        times[EventType.BEFORE_END] = warning
    ours = [Event(str(uuid4()), lease_id, kind, time, EventStatus.UNDONE, now, now) for kind, time in times.items()]
    # A client's own event with a name of ours could start or end the lease.
    own = [(name, time) for name, time in draft.events if name not in set(EventType)]
    if any(time is not None and time > window.end for _, time in own):
        message = "An event cannot come after the end of the lease; give it an earlier event_date."
        raise InvalidDateError(message, field="events")
    for name, time in own:
        status = None if time is None else EventStatus.UNDONE
        ours.append(Event(str(uuid4()), lease_id, name, time, status, now, now))
    return tuple(ours)
