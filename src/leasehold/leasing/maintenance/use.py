"""Make a maintenance window: hosts that are promised to nobody else for a time (feature C7, idea 20, decision 0044).

The window is a lease of the operator's. Leases on the hosts that have not started get other hosts, in the transaction
that makes the window; those that have started stay, and their owners are warned by an event.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from leasehold.db.leases.closures import leases_within
from leasehold.db.leases.lease import find_lease
from leasehold.db.resources.resource import list_resources
from leasehold.leasing.carry_out import carry_out
from leasehold.leasing.dates import asked_window
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.deciding.decide import Asked, promised_window
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.deciding.flags import with_flags
from leasehold.leasing.deciding.promised import AllocationChange, Promised
from leasehold.leasing.deciding.rebinding_search import RoomMade
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.maintenance.model import Concerned, LeaseFate, MaintenanceConflictError, OnConflict
from leasehold.leasing.maintenance.plan import Moved, Planning
from leasehold.leasing.resources.survey import any_broken
from leasehold.leasing.room.rebinding import Rebinding
from leasehold.leasing.unit import Order
from leasehold.metrics.decision import decision
from leasehold.model.allocation import Pick
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InvalidInputError, NotFoundError
from leasehold.model.event_log import LeaseNews
from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation
from leasehold.model.resource import MAINTENANCE
from leasehold.model.segment import Cause
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from leasehold.model.windows import OPEN_END
from leasehold.resource_types.maintenance.kind import MaintenanceKind, MaintenanceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.eligible import Eligible
    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decision import News
    from leasehold.leasing.deciding.flags import Flags
    from leasehold.leasing.deciding.mending import Mending
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.maintenance.model import MaintenanceDraft
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Along, Unit
    from leasehold.model.caller import Caller
    from leasehold.model.resource import Resource
    from leasehold.model.windows import Window

LISTED = 1_000
"""How many leases a refusal lists."""
_KIND = MaintenanceKind()
_INSTEAD = {
    OnConflict.MOVE: ", or the on_conflict `move`, which moves the leases",
    OnConflict.WARN: ", or the on_conflict `warn`, which leaves those that have started and warns their owners",
    OnConflict.FORCE: ", or the on_conflict `force`, which takes the hosts from those that find no others as well",
}
"""What a refusal offers besides, where it would be granted with this word."""


@decision("maintenance")
def make_maintenance(service: Service, caller: Caller, draft: MaintenanceDraft, along: Along | None = None) -> Lease:
    """Make the window and return its lease, or raise and change nothing; `along` is done in the same transaction.

    Raises InvalidInputError for hosts that are not enrolled and for dates, MaintenanceConflictError if leases have the
    hosts and `on_conflict` does not say that they may, and TakesTooLongError.
    """
    with service.db.reading() as connection:
        enrolled = {each.id: each for each in list_resources(connection, _KIND.resources)}
    unknown = [ident for ident in draft.hosts if ident not in enrolled]
    if unknown:
        message = f"There is no host with the id {unknown[0][:80]!r}; GET /v1/os-hosts lists those that are enrolled."
        raise InvalidInputError(message, field="hosts")
    hosts = [enrolled[ident] for ident in dict.fromkeys(draft.hosts)]
    return carry_out(service, Order(along=along), _Making(caller, draft, hosts))


def get_maintenance(service: Service, ident: str) -> Lease:
    """Return the lease of a window; raises NotFoundError."""
    with service.db.reading() as connection:
        lease = find_lease(connection, ident)
    if lease is None or not lease.is_maintenance:
        raise NotFoundError("maintenance_id", ident)
    return lease


def delete_maintenance(service: Service, ident: str) -> None:
    """Delete a window: its hosts are free again. Leases that were moved stay where they are. Raises NotFoundError."""
    delete_lease(service, get_maintenance(service, ident).id)


@dataclass(frozen=True, slots=True)
class _Making:
    """The use case."""

    caller: Caller
    draft: MaintenanceDraft
    hosts: Sequence[Resource]

    def __call__(self, unit: Unit) -> Decision:
        locks = unit.lock({_KIND.pool})
        dates = LeaseDraft(self.draft.name, self.draft.start, self.draft.end, open_ended=self.draft.end == OPEN_END)
        window = asked_window(dates, locks.now)
        ahead = promised_window(window.start, window.end, locks.now)
        # All leases are locked here, in the order of their ids. Who changes allocations holds the pool's lock.
        ids = leases_within(unit.connection, self._numbers, ahead)
        found = [find_lease(unit.connection, each, lock=True, offered=True) for each in ids]
        # Windows that overlap close the host together, so another one is in nobody's way.
        there = [each for each in found if each is not None and not each.is_maintenance]
        there.sort(key=lambda each: (each.window.start, each.id))
        with unit.snapshots(locks) as snapshots:
            self._check_enrolled(snapshots[_KIND.pool].eligible.for_operators())
            view = snapshots[_KIND.pool].booked(self._picks, ahead)
            rebinding = Rebinding(unit.service, locks, frozenset(each.id for each in there))
            moves, fates = self._plan(there, view, ahead, rebinding)
        self._check(fates)
        stay = [each.lease for each in fates if each.fate in (LeaseFate.STARTED, LeaseFate.STUCK)]
        warned = _to_warn(unit.connection, stay, ahead)
        losing = [each.lease for each in moves if each.loses]
        lease = self._lease(window, [each.lease for each in moves if not each.loses], [*losing, *warned], locks.now)
        asked = Asked(_KIND, request_of(lease))
        room = RoomMade([self._picks], tuple(move for each in moves for move in each.room))
        # Owners learn when the window is, and not which hosts are in it.
        told = {"start_date": window.start.isoformat(), "end_date": window.end.isoformat()}
        return Decision(
            locks=locks,
            lease=lease,
            promised=Promised([asked], room, ahead),
            news=["lease.create"],
            due=locks.now,
            also=[
                *(_moved(unit, locks, each, told) for each in moves),
                *(Decision(locks=locks, lease=each, before=each, news=[_warning(told)]) for each in warned),
            ],
        )

    @property
    def _numbers(self) -> set[int]:
        return {host.number for host in self.hosts}

    @property
    def _picks(self) -> list[Pick]:
        return [Pick(host.number) for host in self.hosts]

    def _check_enrolled(self, eligible: Eligible) -> None:
        """Raise InvalidInputError if a host was removed since it was looked up, or is not in the reservation pool."""
        enrolled = set(eligible.resources.numbers[eligible.enrolled()].tolist())
        gone = next((host for host in self.hosts if host.number not in enrolled), None)
        if gone is not None:
            message = (
                f"The host {gone.label} is not in the reservation pool, so nothing is promised on it: leave it out."
            )
            raise InvalidInputError(message, field="hosts")

    # ------------------------------------------------------------ deciding

    def _plan(
        self, there: Sequence[Lease], view: Snapshot, ahead: Window, rebinding: Rebinding
    ) -> tuple[list[Moved], list[Concerned]]:
        """Return how the leases move, and what becomes of each; `view` has the window booked."""
        service = rebinding.service
        budget = service.budget()
        looking = budget.part(service.settings.leases.rebinding_seconds)
        force = self.draft.on_conflict is OnConflict.FORCE
        return Planning(self._numbers, ahead, rebinding, budget, looking, force=force).plan(there, view)

    def _check(self, fates: Sequence[Concerned]) -> None:
        """Raise MaintenanceConflictError unless each lease may have its fate."""
        allowed = self.draft.on_conflict
        if all(each.allowed(allowed) for each in fates):
            return
        counts = Counter(each.fate for each in fates)
        works = next((word for word in OnConflict if all(each.allowed(word) for each in fates)), OnConflict.REFUSE)
        message = (
            f"Leases have these hosts in the window: {counts[LeaseFate.MOVES]} can be moved to other hosts, "
            f"{counts[LeaseFate.STARTED]} have started, and {counts[LeaseFate.STUCK]} cannot be moved. Choose another "
            f"time or other hosts{_INSTEAD.get(works, '')}."
        )
        listed = [
            {
                "id": each.lease.id,
                "project_id": each.lease.project_id,
                "start_date": each.lease.window.start.isoformat(),
                "end_date": each.lease.window.end.isoformat(),
                "fate": each.fate.value,
            }
            for each in fates[:LISTED]
        ]
        raise MaintenanceConflictError(message, field="hosts", details={"leases": listed, "count": len(fates)})

    def _lease(self, window: Window, moved: Sequence[Lease], warned: Sequence[Lease], now: datetime) -> Lease:
        ident = str(uuid4())
        request = MaintenanceRequest(
            tuple(host.id for host in self.hosts),
            tuple(host.number for host in self.hosts),
            tuple(each.id for each in moved),
            tuple(each.id for each in warned),
        )
        part = Reservation(
            str(uuid4()), ident, MAINTENANCE, str(uuid4()), _KIND.store(request), created_at=now, updated_at=now
        )
        times = {EventType.START: window.start, EventType.END: window.end}
        events = (Event(str(uuid4()), ident, kind, time, EventStatus.UNDONE, now, now) for kind, time in times.items())
        return Lease(
            id=ident,
            name=self.draft.name,
            user_id=self.caller.user_id,
            project_id=self.caller.project_id,
            window=window,
            status=LeaseStatus.PENDING,
            created_at=now,
            updated_at=now,
            reservations=(part,),
            events=tuple(events),
        )


def _warning(dates: Mapping[str, str]) -> News:
    return LeaseNews.MAINTENANCE, {"maintenance": dates}


def _moved(unit: Unit, locks: Locks, move: Moved, dates: Mapping[str, str]) -> Decision:
    """Return that a lease has other hosts, as healing would give it."""
    lease = move.lease
    parts = {part.id: part for part in lease.reservations}
    flags = {ident: _flags(unit, locks, lease, parts[ident], each) for ident, each in move.mended.items()}
    return Decision(
        locks=locks,
        lease=with_flags(lease, flags),
        before=lease,
        writes=[partial(_write_move, lease, parts[ident], each) for ident, each in move.mended.items()],
        rereads=True,
        news=[_warning(dates) if move.loses else (LeaseNews.MOVED, {"maintenance": dates})],
        due=locks.now,
    )


def _flags(unit: Unit, locks: Locks, lease: Lease, part: Reservation, mending: Mending) -> Flags:
    """Return the flags of a reservation that moves: what it keeps on another host may be broken as before."""
    over = {each.id for each in (*mending.lost, *mending.dropped, *mending.back)}
    kept = [each for each in held_by(part, lease) if each.id not in over]
    stuck = part.missing_resources and any_broken(unit.service.types, locks.connection, kept, locks.now)
    return replace(mending.flags, missing_resources=True) if stuck else mending.flags


def _write_move(lease: Lease, part: Reservation, mending: Mending, locks: Locks) -> None:
    window = part.ending.held(promised_window(lease.begins, lease.window.end, locks.now))
    over = (*mending.lost, *mending.dropped, *mending.back)
    change = AllocationChange(locks, _KIND.pool, Cause.MOVED, lease.id, part.id, window)
    change.write(over, mending.fresh)


def _to_warn(connection: Connection, started: Sequence[Lease], ahead: Window) -> list[Lease]:
    """Return which leases miss their hosts in a window: of these, and of those that have lent to one.

    A sub-lease holds its hosts beyond its end, up to that of its lender, which has them again then.
    """
    found = {each.id: each for each in started if each.lent is None or each.window.end > ahead.start}
    for each in started:
        lender = None if each.lent is None else find_lease(connection, each.lent.lease_id)
        if lender is not None and each.window.end < ahead.end:
            found.setdefault(lender.id, lender)
    return list(found.values())


def request_of(lease: Lease) -> MaintenanceRequest:
    """Return the request of a window's lease."""
    return _KIND.load(lease.reservations[0].request)
