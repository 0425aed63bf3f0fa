"""Make, amend and fix flexible leases (idea 7, decision 0144).

A place is looked for on what is committed, so that a long search holds nobody up; then the lease is decided there as
any other lease, and looked for again if somebody was quicker.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from leasehold.db.leases.lease import find_lease, find_leases, lock_generation
from leasehold.features.flexible import store as rows
from leasehold.features.flexible.model import (
    Flexible,
    FlexibleChangedError,
    NoPiecesError,
    NotFlexibleError,
    Piece,
    State,
)
from leasehold.features.flexible.moving import places_of, terms_at
from leasehold.features.flexible.pieces import cut
from leasehold.features.flexible.place import Places, asked_again
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.create import create_lease
from leasehold.leasing.create_together import create_together
from leasehold.leasing.deciding.allocations import pools_of
from leasehold.leasing.deciding.decide import RefusedError, seen_by_project
from leasehold.leasing.deciding.free_windows import Windows
from leasehold.leasing.new_lease import read_reservations
from leasehold.leasing.once import done_by
from leasehold.leasing.requests import conditions_asked
from leasehold.model.caller import EVERYTHING
from leasehold.model.draft import LeaseChanges, LeaseDraft, Once
from leasehold.model.errors import InUseError, InvalidInputError, NotEnoughError, NotFoundError
from leasehold.model.paging import WHOLE
from leasehold.model.states import EventType
from leasehold.model.windows import Window, to_minute

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.features.flexible.model import FlexibleDraft, Terms
    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.errors import LeaseholdError
    from leasehold.model.lease import Lease
    from leasehold.model.paging import PageRequest

VARIABLE: Final = "flexible_id"
TRIES: Final = 3
"""How often a place is looked for, each time because somebody else has got it meanwhile."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A flexible lease, and the lease as it is now."""

    flexible: Flexible
    lease: Lease

    @property
    def project_id(self) -> str:
        """The project that has it."""
        return self.lease.project_id

    @property
    def user_id(self) -> str:
        """The user who made it."""
        return self.lease.user_id

    @property
    def pieces(self) -> Sequence[Piece]:
        """The leases of its request that are not deleted, by their starts."""
        mine = Piece(self.lease.id, self.lease.window, self.lease.status)
        return sorted((mine, *self.flexible.others.values()), key=lambda each: (each.window, each.id))

    def state(self, now: datetime) -> State:
        """Return whether it may be moved."""
        return self.flexible.state(self.lease, now)


def make_flexible(
    service: Service,
    caller: Caller,
    draft: FlexibleDraft,
    idempotency_key: str | None = None,
    sight: Sight = EVERYTHING,
) -> Placed:
    """Give a lease the best place by its strategy, and return it; it is an ordinary lease with what it holds there.

    If it may be cut and fits nowhere as a whole, the fewest pieces that fit are leases of their own, all or none, and
    the first is returned. Raises InvalidInputError if it fits nowhere in its window, whoever else has something,
    NoPiecesError, and the errors of `create_lease`. A repeated idempotency key returns the lease that it made.
    """
    once = None if idempotency_key is None else Once(caller.project_id, idempotency_key, draft.fingerprint)
    if done := done_by(service, once):
        return get_flexible(service, done.id)
    least = replace(draft.terms, duration=draft.piece or draft.terms.duration)
    stretches = checked_stretches(least, service.now())
    asked = read_reservations(service, caller, draft.reservations, sight)

    along = partial(_granted, draft.terms, service.now())

    def make(*windows: Window) -> Lease:
        wanted = [
            LeaseDraft(
                draft.name if len(windows) == 1 else f"{draft.name} {number}/{len(windows)}",
                window.start,
                window.end,
                reservations=draft.reservations,
                heal_policy=draft.heal_policy,
                reminders=draft.reminders,
                purpose=draft.purpose,
                use_disabled=draft.use_disabled,
                fingerprint=draft.fingerprint,
            )
            for number, window in enumerate(windows, 1)
        ]
        if len(wanted) == 1:
            return create_lease(service, caller, wanted[0], idempotency_key, sight, along)
        return create_together(service, caller, wanted, asked, idempotency_key, along, sight)

    free = timedelta()
    for _ in range(TRIES):
        windows, free = _best(service, caller.project_id, draft, asked, stretches)
        if not windows:
            break
        with suppress(NotEnoughError, RefusedError):
            return get_flexible(service, make(*windows).id)
    whole = draft.terms.stretches(service.now())
    try:
        if whole:
            return get_flexible(service, _where_others_make_room(draft.terms, whole, make).id)
    except NotEnoughError:
        if draft.piece is None:
            raise
    raise NoPiecesError(free)


def checked_stretches(terms: Terms, now: datetime, but: Collection[Window] = ()) -> Sequence[Window]:
    """Return when a lease may be from now on; raises InvalidInputError if no part of that is long enough for it."""
    found = terms.stretches(now, but)
    if not found:
        field = "hours" if replace(terms, hours=()).stretches(now, but) else "latest"
        what = "These hours have no part of that length" if field == "hours" else "The time is too short for that"
        message = f"{what} between earliest, or now, and latest. Ask for less at a time, or for a later latest."
        raise InvalidInputError(message, field=field)
    return found


def _where_others_make_room(terms: Terms, stretches: Sequence[Window], make: Callable[[Window], Lease]) -> Lease:
    """Return the lease at the first or the last place, for which others may make room; raises as the first one does."""
    first, last = stretches[0].start, to_minute(stretches[-1].end - terms.duration)
    try:
        return make(Window(first, first + terms.duration))
    except NotEnoughError:
        if last > first:
            with suppress(NotEnoughError):
                return make(Window(last, last + terms.duration))
        raise


def _best(
    service: Service, project_id: str, draft: FlexibleDraft, asked: Sequence[Asked], stretches: Sequence[Window]
) -> tuple[Sequence[Window], timedelta]:
    """Return the best window, or those of the best pieces, and how much time is free for pieces.

    They may be in these stretches, and none if it does not fit.
    """
    lead, terms = service.lead_of(part.kind for part in asked), draft.terms

    def work(snapshots: Mapping[str, Snapshot], now: datetime) -> tuple[Sequence[Window], timedelta]:
        def places(duration: timedelta) -> Places:
            first = Window(stretches[0].start, stretches[0].start + duration)
            windows = Windows(seen_by_project(snapshots, project_id), asked, terms_at(service, first, lead, now))
            return Places(windows, [each for each in stretches if each.duration >= duration])

        best = places(terms.duration).best(terms.strategy, now)
        if best is not None or draft.piece is None:
            return ([] if best is None else [best.window]), timedelta()
        return cut(partial(places, draft.piece), terms.duration, terms.strategy, now)

    return service.look({part.kind.pool for part in asked}, work, conditions_asked(asked), asks=True)


def _granted(terms: Terms, now: datetime, connection: Connection, *leases: Lease) -> None:
    """Write the terms of the leases of one request in the transaction that grants them."""
    found = [
        Flexible(each.id, each.project_id, replace(terms, duration=each.window.duration), each.window.start, now)
        for each in leases
    ]
    rows.add_request(connection, found)


# ---------------------------------------------------------------- afterwards


def get_flexible(service: Service, ident: str) -> Placed:
    """Return a flexible lease; raises NotFoundError for one that is deleted, or is not flexible any more."""
    with service.db.reading() as connection:
        return _found(connection, ident)


def other_leases(service: Service, placed: Placed) -> Sequence[Lease]:
    """Return the other leases of its request."""
    with service.db.reading() as connection:
        return find_leases(connection, list(placed.flexible.others))


def list_flexible(service: Service, project_id: str | None, part: PageRequest = WHOLE) -> Sequence[Placed]:
    """Return a part of the flexible leases of a project, or with None of all projects, oldest first."""
    with service.db.reading() as connection:
        found = rows.ROWS.page(connection, project_id, part)
        leases = {lease.id: lease for lease in find_leases(connection, [each.id for each in found])}
        found = rows.with_others(connection, found)
    return [Placed(each, leases[each.id]) for each in found if each.id in leases]


def amend_flexible(service: Service, ident: str, terms: Terms, sight: Sight = EVERYTHING) -> Placed:
    """Change the terms of a flexible lease that has not started; it stays where it is if these allow that.

    Otherwise it gets the same start, or else the best place by its strategy. Raises NotFoundError, NotFlexibleError,
    FlexibleChangedError, the error of `checked_stretches`, and those of `amend_lease`.
    """
    placed = get_flexible(service, ident)
    each, lease = placed.flexible, placed.lease
    if placed.state(service.now()) is State.FIXED or lease.reached(EventType.START):
        raise NotFlexibleError
    if each.others and terms.duration != each.terms.duration:
        message = (
            "It is a piece of a request and keeps its length; amend it with PUT /v1/leases, or make a new request."
        )
        raise InvalidInputError(message, field="duration_seconds")
    if terms.allow(lease.window):
        return _with_terms(service, placed, terms)
    refused: LeaseholdError | None = None
    for window in _candidates(service, replace(each, terms=terms), lease):
        try:
            changes = LeaseChanges(start=window.start, end=window.end)
            along = partial(_amended, each, replace(each, terms=terms, start_at=window.start))
            amend_lease(service, ident, changes, None, sight, along=along)
            return get_flexible(service, ident)
        except (NotEnoughError, InUseError) as error:
            refused = refused or error
    raise refused or NotFoundError(VARIABLE, ident)


def fix_flexible(service: Service, ident: str) -> None:
    """Let a flexible lease stay where it is: it becomes a lease like any other. Raises NotFoundError."""

    def work(connection: Connection) -> None:
        lock_generation(connection, ident)
        _found(connection, ident)
        rows.forget_flexible(connection, ident)

    service.db.transact(work)


def _candidates(service: Service, each: Flexible, lease: Lease) -> Iterator[Window]:
    """Yield where a lease may go that gets other terms: at its present start, at the best place, and at the first."""
    now = service.now()
    others = [other.window for other in each.others.values()]
    stretches = checked_stretches(each.terms, now, others)
    same = Window(lease.window.start, lease.window.start + each.terms.duration)
    if each.terms.allow(same):
        yield same

    def work(snapshots: Mapping[str, Snapshot], moment: datetime) -> Window | None:
        terms = terms_at(service, same, lease.lead, moment)
        places = replace(places_of(service, each, lease, snapshots, terms, moment), stretches=stretches)
        best = places.best(each.terms.strategy, moment)
        return None if best is None else best.window

    conditions = conditions_asked(asked_again(service, lease))
    best = service.look(pools_of(lease, service.types), work, conditions, asks=True)
    yield best or Window(stretches[0].start, stretches[0].start + each.terms.duration)


def _with_terms(service: Service, placed: Placed, terms: Terms) -> Placed:
    """Write the terms of a lease that stays where it is."""
    after = replace(placed.flexible, terms=terms)

    def work(connection: Connection) -> Placed:
        generation = lock_generation(connection, after.id)
        if generation != placed.lease.generation:
            raise FlexibleChangedError
        _amended(placed.flexible, after, connection)
        return replace(placed, flexible=after)

    return service.db.transact(work)


def _amended(before: Flexible, after: Flexible, connection: Connection, _lease: Lease | None = None) -> None:
    """Write the terms of a lease, which is locked; raises FlexibleChangedError if they changed since they were read."""
    if not rows.may_become(connection, before, after.window):
        raise FlexibleChangedError
    rows.save_flexible(connection, after)


def _found(connection: Connection, ident: str) -> Placed:
    each, lease = rows.ROWS.find(connection, ident), find_lease(connection, ident)
    if each is None or lease is None:
        raise NotFoundError(VARIABLE, ident)
    return Placed(rows.with_others(connection, [each])[0], lease)
