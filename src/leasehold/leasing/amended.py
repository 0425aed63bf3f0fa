"""The pure part of an amendment: the new name, requests, dates and events of the lease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.leasing.dates import new_warning
from leasehold.model.errors import ConflictError, InvalidInputError
from leasehold.model.lease import with_fields
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.terms.no_show import changed
from leasehold.model.transitions import Trigger, move

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from leasehold.model.draft import LeaseChanges
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.terms.default_properties import DefaultProperties
    from leasehold.model.terms.ending import Ending
    from leasehold.model.windows import Window


_ZONED = (
    "Whether hosts are given back with their servers is fixed when the lease starts: they are then in an availability "
    "zone, or in none. Delete servers that are not to live on before the end, or make another lease."
)


@dataclass(frozen=True, slots=True)
class PartChange:
    """What a client wants of one reservation: the new `request`, in stored form, and how it ends.

    `lowered` is its request for what it has left when it has given up, unused, the allocations with the ids `vacated`.
    `no_show` is the time after which it releases what it does not use, None if that stays. `place` is its path in the
    client's request. One that `names_properties` now has no default properties any more.
    """

    request: Mapping[str, Any]
    ending: Ending
    lowered: Mapping[str, Any]
    vacated: frozenset[int] = frozenset()
    no_show: timedelta | None = None
    place: str | None = None
    names_properties: bool = False


@dataclass(frozen=True, slots=True)
class Amendment:
    """The changes that a client wants, with those of reservations by their ids.

    `hidden` are the private properties that the client may not use. `tells_disabled` says that the client may learn
    that disabled resources would have been enough.
    """

    changes: LeaseChanges
    parts: Mapping[str, PartChange]
    hidden: frozenset[str] = frozenset()
    tells_disabled: bool = False

    def of(self, part: Reservation) -> PartChange:
        """Return the change of a reservation; that of others is what they are."""
        return self.parts.get(part.id) or PartChange(part.request, part.ending, part.request)

    def ending(self, part: Reservation) -> Ending:
        """Return how a reservation ends after the amendment."""
        return self.of(part).ending

    def default(self, part: Reservation) -> DefaultProperties | None:
        """Return the default properties of a reservation after the amendment."""
        return None if self.of(part).names_properties else part.default_properties

    def asks_more(self, part: Reservation) -> bool:
        """Say whether a reservation needs a new decision, the window aside."""
        change = self.of(part)
        return change.request != change.lowered or change.ending.tail > part.ending.tail

    def check_endings(self, lease: Lease, now: datetime) -> None:
        """Raise an error for a reservation that cannot end as is asked for, at this time.

        That is ConflictError for one that has started and would be in an availability zone where it is in none, or the
        other way round; and InvalidInputError where the lease is over, and would hold resources for another time.
        """
        for part in lease.reservations:
            before, after, place = part.ending, self.ending(part), self.of(part).place
            if before.gives_back is not after.gives_back and lease.reached(EventType.START):
                raise ConflictError(_ZONED, field=f"{place}.on_end")
            if before.tail != after.tail and lease.window.end <= now:
                # Another lease may have been promised its resources since.
                message = "The lease has ended, so how long its servers live on cannot be changed; ask for a new lease."
                name = "grace_seconds" if before.grace != after.grace else "recycle_seconds"
                name = "on_end" if before.gives_back is not after.gives_back else name
                raise InvalidInputError(message, field=f"{place}.{name}")

    def applied(self, lease: Lease, window: Window, now: datetime) -> Lease:
        """Return the amended lease; a failed lease is started again, unless the new window is over.

        Raises OutOfWindowError for the time of the warning.
        """
        return self._armed(lease, self._applied(lease, window, new_warning(lease, self.changes, window), now), now)

    def in_window(self, lease: Lease, window: Window, now: datetime) -> Lease:
        """Return the amended lease in another window than the client asked for, with its warning unchanged."""
        return self._applied(lease, window, None, now)

    def _armed(self, lease: Lease, after: Lease, now: datetime) -> Lease:
        """Return the amended lease, whose time of a no-show counts anew where another request or time is asked for."""
        started = lease.reached(EventType.START)
        for part in lease.reservations:
            change = self.of(part)
            if change.no_show is not None:
                anew = change.request != part.request
                no_show = changed(part.no_show, change.no_show, now, started=started, anew=anew)
                after = after.with_reservations({part.id}, no_show=no_show)
        return after

    def _applied(self, lease: Lease, window: Window, warning: datetime | None, now: datetime) -> Lease:
        after = self.changes.described(with_fields(lease, window=window))
        for part in lease.reservations:
            change, default = self.of(part), self.default(part)
            after = after.with_reservations(
                {part.id}, request=change.request, ending=change.ending, default_properties=default
            )
            if part.id in self.changes.drops:
                after = after.with_reservations({part.id}, dropped=True, no_show=None)
        begins = window.start - lease.lead
        after = after.with_times({EventType.START: begins, EventType.END: window.end, EventType.BEFORE_END: warning})
        if after.event(EventType.BEFORE_END) != lease.event(EventType.BEFORE_END):
            after = move(after, Trigger.WARNING_MOVED)
        if lease.status is LeaseStatus.ERROR and window.end <= now:
            return move(after, Trigger.AMENDED)
        trigger = Trigger.RETRIED if lease.status is LeaseStatus.ERROR else Trigger.AMENDED
        return with_fields(move(after, trigger), status_reason=None)
