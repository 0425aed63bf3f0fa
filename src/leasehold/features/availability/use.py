"""How much is free in a window: the answer is an exact step function, and promises nothing (features G2 to G4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from leasehold.calendar.profile import FreeUnits, free_of
from leasehold.db.resources.resource import find_resource
from leasehold.leasing.deciding.decide import Asked
from leasehold.leasing.requests import Read, conditions_of, read_requests
from leasehold.leasing.room.counter_offer import most_available
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import (
    ForbiddenError,
    InvalidDateError,
    InvalidInputError,
    MissingParameterError,
    NotFoundError,
    TakesTooLongError,
)
from leasehold.model.terms.lead import Lead
from leasehold.model.windows import Window, from_seconds, to_seconds
from leasehold.resource_types.kind import Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Terms
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceTypes

PLACE: Final = ""
"""The path of the reservation in errors: its keys are keys of the request."""
_SECOND: Final = timedelta(seconds=1)
MOST_STEPS: Final = 50_000
"""The steps of one answer."""


@dataclass(frozen=True, slots=True)
class AvailabilityQuestion:
    """What is asked about: a reservation, whose amount and conditions may be absent, and a window.

    `resource_id` asks about one resource alone.
    """

    reservation: Mapping[str, Any]
    start: datetime
    end: datetime
    resource_id: str | None = None


@dataclass(frozen=True, slots=True)
class Availability:
    """How many units are free, from each of `moments` until the next; the window ends the last step.

    `total` counts all units that match, and `held_back` those of resources that nobody gets now: failed, disabled and
    held ones. `throughout` is the largest amount that one lease of the whole window would get, and None if that takes
    too long to say. Moments are seconds since the epoch.
    """

    resource_type: str
    noun: str
    window: Window
    total: int
    held_back: int
    throughout: int | None
    moments: Sequence[int]
    free: Sequence[int]

    @property
    def reserved(self) -> Sequence[int]:
        """The units that are neither free nor held back, at each step."""
        return [self.total - self.held_back - each for each in self.free]


def availability_of(
    service: Service, caller: Caller, question: AvailabilityQuestion, sight: Sight = EVERYTHING
) -> Availability:
    """Return how much is free at every second of the window.

    What is free at a moment can be leased then: the cleaning time around leases counts as reserved, and so does the
    lead time after them. The limits of the caller's project do not count. A window that has begun is looked at from now
    on.

    Raises what a lease with this reservation would be refused with, except that there is not enough; InvalidDateError
    for the window, NotFoundError and ForbiddenError for the resource, TakesTooLongError, and InvalidInputError where
    the answer would have more than MOST_STEPS.
    """
    window = _window(question, service.now())
    reading = read_requests(
        service, caller, sight, [question.reservation], partial(_read, service.types), lambda _: PLACE
    )
    (part,) = reading.parts
    kind = part.type.kind
    number = _number(service, kind, question.resource_id, sight)
    asked = Asked(kind, part.request, hidden=reading.hidden)
    budget = service.budget()

    def look(snapshots: Mapping[str, Snapshot], now: datetime) -> tuple[FreeUnits, int | None]:
        pool = snapshots[kind.pool]
        # One resource alone is for who may list them, unless everybody may know it.
        all_of_it = number is not None and sight.hosts
        view = pool.among(pool.eligible.for_operators()) if all_of_it else pool.for_project(caller.project_id)
        ahead = Window(max(window.start, from_seconds(to_seconds(now))), window.end)
        lead = Lead(service.lead_of([kind]), now)
        terms = service.terms(ahead, ahead.duration, lead=lead)
        margin = terms.margins.of(kind.pool)
        search: Search[Any] = Search(
            view, ahead, ahead.duration, margin=margin, check=budget.check, hidden=reading.hidden
        )
        units = kind.units(part.request, search)
        if number is not None:
            units = replace(units, matches=units.matches & (view.numbers == number))
        times = -(-margin // _SECOND), lead.time // _SECOND, to_seconds(now)
        books = free_of(view, units, ahead.seconds, *times)
        return books, None if number is not None else _throughout(asked, view, terms)

    books, throughout = service.look([kind.pool], look, conditions_of([(kind, part.request)]), asks=True)
    moments, free = books.steps(budget.check)
    if len(moments) > MOST_STEPS:
        message = f"The answer would have {len(moments)} steps, more than {MOST_STEPS}; ask for a shorter window."
        raise InvalidInputError(message, field="to")
    return Availability(
        resource_type=part.type.name,
        noun=kind.noun,
        window=Window(from_seconds(books.window[0]), window.end),
        total=books.total,
        held_back=books.total - books.usable,
        throughout=throughout if number is None else int(free.min()),
        moments=moments.tolist(),
        free=free.tolist(),
    )


def _window(question: AvailabilityQuestion, now: datetime) -> Window:
    if question.end <= max(question.start, now):
        message = "The window has to end after it begins, and later than now."
        raise InvalidDateError(message, field="to")
    return Window(question.start, question.end)


def _read(types: ResourceTypes, raw: Mapping[str, Any]) -> Read:
    """Read a reservation that may leave out how many it asks for, and its conditions."""
    found = types.offered(raw["resource_type"])
    kind = found.kind
    filled = dict.fromkeys(kind.counts & kind.schema.model_fields.keys(), 1)
    try:
        return Read(found, kind.parse(kind.asked({**kind.unconditional, **filled, **raw})))
    except MissingParameterError as error:
        missing = error.details["missing"]
        keys = "".join(f"&{name}=\N{HORIZONTAL ELLIPSIS}" for name in missing)
        how = (
            f"Add what tells {kind.noun} apart to the query, as a reservation has it: resource_type={kind.name}{keys}."
        )
        raise MissingParameterError(*missing, how=how) from None


def _number(service: Service, kind: Kind[Any], ident: str | None, sight: Sight) -> int | None:
    """Return the number of the resource that is asked about; None for all."""
    if ident is None:
        return None
    if not (sight.hosts or kind.public):
        message = f"Only callers who may list {kind.singular}s ask about one of them; leave resource_id out."
        raise ForbiddenError(message, field="resource_id")
    with service.db.reading() as connection:
        found = find_resource(connection, kind.resources, ident)
    if found is None:
        raise NotFoundError(kind.id_name, ident)
    return found.number


def _throughout(asked: Asked, view: Snapshot, terms: Terms) -> int | None:
    try:
        return most_available(asked, view, terms)
    except TakesTooLongError:
        return None
