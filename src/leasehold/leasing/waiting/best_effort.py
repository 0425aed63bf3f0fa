"""Plan a best-effort lease: which shared hosts would let it be granted, and whether their servers have room elsewhere.

Everything is proved before anything changes (feature A4, decision 0060): on the books, by the decision of the lease
with shared hosts added, and on the figures of Nova and Placement. The cloud is only read, outside every transaction;
then the plan is checked again in the transaction that begins the draws.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import list_resources
from leasehold.leasing.dates import asked_window
from leasehold.leasing.deciding.decide import RefusedError, decide, promised_window, seen_by_project
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.resources.pool_size import PAUSE_AFTER_FAILURE
from leasehold.model.errors import CloudUnavailableError
from leasehold.model.membership import Membership
from leasehold.model.placing.draw import Drawable, DrawPlan, first_enough, first_without_place
from leasehold.model.placing.pool_size import NO_SIZE
from leasehold.model.resource import Health
from leasehold.model.terms.lead import Lead
from leasehold.model.windows import Window
from leasehold.resource_types.kind import Explain
from leasehold.resource_types.strategy import ranked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Pick
    from leasehold.model.draft import LeaseDraft
    from leasehold.model.errors import NotEnoughError
    from leasehold.model.lease import Lease
    from leasehold.model.placing.draw import Guest, Room
    from leasehold.model.resource import Resource
    from leasehold.resource_types.capabilities import Movable

log = logging.getLogger(__name__)

Result = TypeVar("Result")

PLANS = 3
"""How often a request is planned, each time because the pool has changed before the plan was carried out."""
MOST_CHOICES = 20
"""How many choices of hosts are tried whose servers have no room elsewhere."""
NO_HOSTS = "Only reservations of {} get shared hosts, so best effort changes nothing here."
NOTHING_SHARED = "There is no shared host that could be drawn for it."
NOT_ENOUGH = "Drawing shared hosts would not be enough either."
NO_ROOM = "Shared hosts cannot be drawn for it, because their servers do not fit on the others."
OVERTAKEN = "The hosts that could be drawn for it keep changing; send the request again in a moment."


class UnplannedError(Exception):
    """A best-effort lease was refused, and there is no plan, or it fits no more; `refused` is the refusal."""

    def __init__(self, refused: NotEnoughError) -> None:
        super().__init__("not planned")
        self.refused = refused


def with_draws(
    service: Service,
    project_id: str,
    draft: LeaseDraft,
    asked: Sequence[Asked],
    make: Callable[[DrawPlan | None], Lease],
) -> Lease:
    """Return the lease that `make` makes: without a plan, or else, if it is a best-effort lease, with one.

    Raises NotEnoughError if it cannot be granted with shared hosts either, and CloudUnavailableError if the cloud does
    not say what is on them; then no call has changed anything.
    """
    try:
        return make(None)
    except UnplannedError as error:
        refused = error.refused
    drivers = {type_.name: driver for type_, driver in service.types.movable()}
    name = next((part.kind.name for part in asked if part.kind.name in drivers), None)
    if name is None:
        raise refused.but(NO_HOSTS.format(", ".join(drivers)))
    for _ in range(PLANS):
        plan = _Planning(service, name, drivers[name], project_id, draft, asked, refused).plan()
        try:
            return make(plan)
        except UnplannedError as error:
            refused = error.refused
    raise refused.but(OVERTAKEN)


def plan_window(window: Window, deadline: datetime, now: datetime) -> Window:
    """Return the time in which the hosts of a plan have to be free: whenever it is granted until the deadline."""
    ahead = promised_window(window.start, window.end, now)
    return Window(ahead.start, max(ahead.end, deadline + window.duration))


def planned_picks(
    connection: Connection,
    plan: DrawPlan | None,
    snapshots: Mapping[str, Snapshot],
    asked: Sequence[Asked],
    terms: Terms,
    refused: NotEnoughError,
    now: datetime,
) -> list[Sequence[Pick]]:
    """Return what the plan gives to each reservation, under the locks; raises UnplannedError if it fits no more.

    `terms` are those of `plan_window`. The figures hold if no other host has begun to be drawn since.
    """
    if plan is None:
        raise UnplannedError(refused)
    present = list_resources(connection, plan.resource_type)
    able = {each.number for each in present if _may_be_drawn(each, now)}
    if not plan.draws <= able or _drawing(present) != plan.drawing:
        raise UnplannedError(refused)
    try:
        return decide(snapshots, asked, replace(terms, shared={plan.resource_type: plan.draws}))
    except RefusedError:
        raise UnplannedError(refused) from None


def _drawing(hosts: Sequence[Resource]) -> frozenset[int]:
    return frozenset(each.number for each in hosts if each.membership is Membership.DRAWING)


def _may_be_drawn(host: Resource, now: datetime) -> bool:
    """Say whether a host is shared, works, is not disabled, and has not failed to be drawn a short while ago."""
    failed = host.membership_reason is not None and now - (host.membership_since or now) < PAUSE_AFTER_FAILURE
    return _stays_open(host) and not host.disabled and host.held_for is None and not failed


def _stays_open(host: Resource) -> bool:
    return host.membership is Membership.SHARED and host.health is Health.HEALTHY


@dataclass(frozen=True, slots=True)
class _Planning:
    """One search for a plan to draw resources of one type; `refused` is the answer to the request if there is none."""

    service: Service
    resource_type: str
    driver: Movable
    project_id: str
    draft: LeaseDraft
    asked: Sequence[Asked]
    refused: NotEnoughError
    rooms: dict[int, Room] = field(default_factory=dict)

    def plan(self) -> DrawPlan:
        """Return which hosts to draw; raises NotEnoughError and CloudUnavailableError."""
        with self.service.db.reading() as connection:
            hosts = list_resources(connection, self.resource_type)
        able = [each for each in hosts if each.open_to(self.project_id) and _may_be_drawn(each, self.service.now())]
        if not able:
            raise self.refused.but(NOTHING_SHARED)
        # The cloud is not asked for what is hopeless.
        if not self._look(partial(self._enough, numbers=frozenset(each.number for each in able))):
            raise self.refused.but(NOT_ENOUGH)
        try:
            return self._with_figures(hosts, {each.number for each in able})
        except CloudError as error:
            # The error may name hosts, which is not for members.
            log.warning("A best-effort lease could not be planned: %s", error)
            message = "The cloud does not say now whether shared hosts can be drawn for it. Try again later."
            raise CloudUnavailableError(message) from error

    def _with_figures(self, hosts: Sequence[Resource], able: Collection[int]) -> DrawPlan:
        drawing = _drawing(hosts)
        seen = [each for each in hosts if each.number in drawing or _stays_open(each)]
        guests = self.driver.sized_guests(self.service.cloud, self.service.settings.cloud, seen)
        found = [
            Drawable(each.number, each.label, tuple(guests.get(each.number, ())))
            for each in seen
            if each.number in able and all(guest.movable for guest in guests.get(each.number, ()))
        ]
        choice = [each.number for each in ranked(self.service.strategy, found)]
        for tried in range(MOST_CHOICES):
            chosen = self._fewest(choice)
            if chosen is None:
                raise self.refused.but(NO_ROOM if tried or len(found) < len(able) else NOT_ENOUGH)
            homeless = self._homeless(chosen | drawing, seen, guests)
            if homeless is None:
                return DrawPlan(self.resource_type, self._within_ceiling(chosen, hosts), drawing)
            choice = [each for each in choice if homeless not in guests.get(each, ())]
            if chosen <= set(choice):
                break
        raise self.refused.but(NO_ROOM)

    def _homeless(
        self, going: frozenset[int], seen: Sequence[Resource], guests: Mapping[int, Sequence[Guest]]
    ) -> Guest | None:
        """Return a server of the hosts that go for which the others have no room; None if they have for all."""
        staying = [each for each in seen if each.number not in going]
        staying.sort(key=lambda each: (len(guests.get(each.number, ())), each.number))
        movers = [guest for number in going for guest in Drawable(number, "", tuple(guests.get(number, ()))).movers]
        return first_without_place(movers, [partial(self._room, each) for each in staying])

    def _room(self, host: Resource) -> Room:
        if host.number not in self.rooms:
            self.rooms[host.number] = self.driver.room(self.service.cloud, host)
        return self.rooms[host.number]

    def _within_ceiling(self, chosen: frozenset[int], hosts: Sequence[Resource]) -> frozenset[int]:
        ceiling = self.service.settings.manager.pool_sizes.get(self.resource_type, NO_SIZE).ceiling
        inside = sum(each.membership in (Membership.RESERVATION, Membership.DRAWING) for each in hosts)
        if ceiling is not None and inside + len(chosen) > ceiling:
            raise self.refused.but(f"No shared host is drawn beyond {ceiling} hosts of the reservation pool.")
        return chosen

    def _fewest(self, choice: Sequence[int]) -> frozenset[int] | None:
        def work(snapshots: Mapping[str, Snapshot], now: datetime) -> frozenset[int] | None:
            terms = self._terms(now)
            return first_enough(choice, lambda numbers: self._fits(snapshots, terms, numbers))

        return self._look(work)

    def _enough(self, snapshots: Mapping[str, Snapshot], now: datetime, numbers: frozenset[int]) -> bool:
        return self._fits(snapshots, self._terms(now), numbers)

    def _look(self, work: Callable[[Mapping[str, Snapshot], datetime], Result]) -> Result:
        pools = {part.kind.pool for part in self.asked}
        conditions = conditions_asked(self.asked)
        return self.service.look(
            pools, lambda every, now: work(seen_by_project(every, self.project_id), now), conditions
        )

    def _terms(self, now: datetime) -> Terms:
        window = asked_window(self.draft, now)
        deadline = self.draft.deadline or now + self.service.settings.cloud.draw_limit
        promised = plan_window(window, deadline, now)
        lead = Lead(self.service.lead_of(part.kind for part in self.asked), now)
        terms = self.service.terms(promised, promised.duration, use_disabled=self.draft.use_disabled, lead=lead)
        return replace(terms, explain=Explain.NOTHING)

    def _fits(self, snapshots: Mapping[str, Snapshot], terms: Terms, numbers: frozenset[int]) -> bool:
        try:
            decide(snapshots, self.asked, replace(terms, shared={self.resource_type: numbers}))
        except RefusedError:
            return False
        return True
