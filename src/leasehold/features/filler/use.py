"""The decisions about fillers, each one transaction: to grant one, to tell that a host has to go, and that it is gone.

While a filler has a host the calendar lets nothing be promised on it that begins before it could be ready again, and
nothing else of a filler is in the calendar: it is below every promise (decisions 0140, 0145).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold.calendar.weighing import Spread, Weighers
from leasehold.db.allocation import leases_on
from leasehold.db.outbox import put_project_event
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.task import LEASE, hurry_task
from leasehold.features.filler import store as rows
from leasehold.features.filler.model import ASKED, FilledHost, Filler, Leave, TooManyFilledHostsError
from leasehold.features.filler.options import FillerSettings
from leasehold.leasing.deciding.decide import Asked, allocate
from leasehold.leasing.locks import lock
from leasehold.leasing.owned import OwnedItems
from leasehold.leasing.requests import Read, conditions_of, read_requests
from leasehold.leasing.resources.readiness import decide_about, put_readiness
from leasehold.leasing.waiting.wanted import wanted_by_waiting
from leasehold.model.allocation import Pick
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import InvalidInputError
from leasehold.model.event_log import FillerNews
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.model.resource import HOST, Health, Readiness
from leasehold.model.windows import Window, from_seconds, to_seconds
from leasehold.resource_types.kind import Explain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.features.filler.model import FillerDraft
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.resource import Resource
    from leasehold.resource_types.registry import ResourceType, ResourceTypes

    Work = Callable[[Locks, Resource, FilledHost], bool]

PLACE = "reservation"
"""The path of the reservation in the client's request."""


def _most(service: Service) -> int:
    return service.settings.of(FillerSettings).hosts


FILLERS = OwnedItems(rows.FILLERS, "filler_id", _most, TooManyFilledHostsError)
_LONGEST_FIRST = Weighers(Spread())


def make_filler(service: Service, caller: Caller, draft: FillerDraft, sight: Sight = EVERYTHING) -> Filler:
    """Give a project hosts on which nothing is promised for as long as it asks, those first that may stay longest.

    Raises what a lease with this reservation would be refused with: NotEnoughError
    says how many there are and from when on there are enough; and TooManyFilledHostsError, InvalidInputError and
    TakesTooLongError.
    """
    settings = service.settings.of(FillerSettings)
    if not settings.hosts:
        raise TooManyFilledHostsError(0)
    part, asked = _read(service, caller, draft, sight)
    wanted = wanted_by_waiting(service, {asked.kind.pool})
    granting = _Granting(service, caller, draft, part, asked, settings, wanted)
    made = service.decide(granting, conditions_of([(asked.kind, asked.request)]))
    service.wake()
    return made


def _read(service: Service, caller: Caller, draft: FillerDraft, sight: Sight) -> tuple[Read, Asked]:
    understand = partial(_understood, service.types)
    reading = read_requests(service, caller, sight, [draft.reservation], understand, lambda _: PLACE)
    (part,) = reading.parts
    return part, Asked(part.type.kind, part.request, place=PLACE, hidden=reading.hidden)


def _understood(types: ResourceTypes, raw: Mapping[str, Any]) -> Read:
    if raw["resource_type"] != HOST:
        message = f"A filler has whole hosts: the resource_type has to be {HOST!r}."
        raise InvalidInputError(message, field="resource_type")
    found = types.offered(HOST)
    return Read(found, found.kind.parse(found.kind.asked(raw)))


@dataclass(frozen=True, slots=True)
class _Granting:
    """The decision; it runs again after a calendar had to be loaded. The hosts in `wanted` are for leases that wait."""

    service: Service
    caller: Caller
    draft: FillerDraft
    part: Read
    asked: Asked
    settings: FillerSettings
    wanted: frozenset[int]

    def __call__(self, evaluated: Evaluated, connection: Connection) -> Filler:
        pool = self.asked.kind.pool
        locks = lock(connection, {pool}, self.service.now)
        self._check_limit(connection)
        ends_at = self._ends_at(locks.now)
        with self.service.calendars.synced(connection, locks.pools, locks.now, evaluated) as snapshots:
            picks = self._picks(connection, snapshots[pool].weighed(_LONGEST_FIRST), locks.now)
        filler = Filler(
            id=str(uuid4()),
            project_id=self.caller.project_id,
            user_id=self.caller.user_id,
            name=self.draft.name,
            reservation=dict(self.draft.reservation),
            request=self.part.stored,
            at_least_seconds=int(self._at_least.total_seconds()),
            ends_at=ends_at,
            created_at=locks.now,
        )
        numbers = [each.resource_number for each in picks]
        hosts = [FilledHost(str(uuid4()), filler.id, filler.project_id, each, locks.now) for each in numbers]
        rows.FILLERS.add(connection, filler)
        rows.add_hosts(connection, hosts)
        for resource in resources_by_number(connection, numbers).values():
            put_readiness(locks, resource, Readiness(self.settings.of(resource).takes), resource.health)
        locks.move()
        return filler

    @property
    def _at_least(self) -> timedelta:
        return max(self.draft.at_least, self.settings.least, self.settings.notice)

    def _check_limit(self, connection: Connection) -> None:
        """Raise TooManyFilledHostsError if the project may not have as many; the pool is locked, so they stay so."""
        least = self.asked.request.min
        if rows.count_hosts(connection, self.caller.project_id) + least > self.settings.hosts:
            raise TooManyFilledHostsError(self.settings.hosts)

    def _ends_at(self, now: datetime) -> datetime | None:
        """Return when it ends at the latest; raises InvalidInputError for an end that is too soon."""
        asked, longest = self.draft.ends_at, self.settings.longest
        if asked is not None and asked < now + self._at_least:
            message = f"It has to be at least {int(self._at_least.total_seconds())} seconds from now."
            raise InvalidInputError(message, field="end_date")
        last = now + longest if longest else None
        return min((each for each in (asked, last) if each is not None), default=None)

    def _picks(self, connection: Connection, view: Snapshot, now: datetime) -> Sequence[Pick]:
        """Return the hosts; raises NotEnoughError."""
        begin, kind = from_seconds(to_seconds(now)), self.asked.kind
        lasts = self._at_least + self.settings.longest_leaving
        terms = replace(self.service.terms(Window(begin, begin + lasts), lasts), explain=Explain.WINDOW)
        view = view.booked(map(Pick, self.wanted.intersection(view.numbers.tolist())), terms.window)
        outcome = allocate(self.asked, view.for_project(self.caller.project_id), terms)
        if isinstance(outcome, Refusal):
            raise self.asked.blame(kind.not_enough(outcome))
        mask = view.eligible.bookable() & view.free(terms.window)
        left = self.settings.hosts - rows.count_hosts(connection, self.caller.project_id)
        most = min(len(outcome), left, int(mask.sum()) - self.settings.spares)
        if most < self.asked.request.min:
            raise self.asked.blame(kind.not_enough(self._kept(int(mask.sum()), max(0, most), terms.window)))
        return outcome[:most]

    def _kept(self, free: int, most: int, window: Window) -> Refusal:
        """Return the refusal of hosts that are kept idle for requests that begin now, or for leases that wait."""
        kind = self.asked.kind
        steps = (FilterCount("free in the window", free), FilterCount("not kept for leases", most))
        return Refusal(kind.name, kind.noun, self.asked.request.min, most, window, steps=steps)


def adopt(service: Service, resource: Resource, ident: str, filler_id: str, project_id: str) -> bool:
    """Take up a host of a filler that the cloud has and the database does not, because it went back; say whether.

    What was asked for is lost: it goes on as one of this host with the usual action before its end.
    """
    kind = service.types.get(HOST).kind
    raw = {"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}

    def work(locks: Locks, now: Resource) -> bool:
        if now.readiness is not None or rows.find_host(locks.connection, ident) is not None:
            return False
        known = rows.FILLERS.find(locks.connection, filler_id)
        if known is None or known.ended_at is not None:
            rows.FILLERS.remove(locks.connection, filler_id)
            asked = {"resource_type": HOST, **raw}
            request = kind.store(kind.parse(raw))
            rows.FILLERS.add(
                locks.connection, Filler(filler_id, project_id, "", "", asked, request, 0, None, locks.now)
            )
        rows.forget_host(locks.connection, ident)
        host = FilledHost(ident, filler_id, project_id, now.number, locks.now, arrived_at=locks.now)
        rows.add_hosts(locks.connection, [host])
        put_readiness(locks, now, Readiness(service.settings.of(FillerSettings).of(now).takes), now.health)
        return True

    return decide_about(service, resource, work, freed=False)


def end_filler(service: Service, ident: str) -> Filler:
    """End a filler as its project wants, with the action before its end and without a notice; return it as it is then.

    Raises NotFoundError.
    """
    FILLERS.get(service, ident)
    with service.db.reading() as connection:
        mine = rows.hosts_of(connection, [ident])[ident]
        resources = resources_by_number(connection, {each.resource_number for each in mine})
    for each in mine:
        if each.ended_at is None:
            tell(service, resources[each.resource_number], each, Leave(service.now(), ASKED))
    return FILLERS.get(service, ident)


def tell(service: Service, resource: Resource, host: FilledHost, leave: Leave) -> bool:
    """Decide that a host has to go, and tell its project; say whether it had to go no sooner before.

    From now on it is ready when its servers have had the time to end.
    """

    def work(locks: Locks, now: Resource, present: FilledHost) -> bool:
        if present.leaves_at is not None and present.leaves_at <= leave.at:
            return False
        values: dict[str, Any] = {"leaves_at": leave.at, "reason": leave.reason, "told_at": locks.now}
        rows.change_host(locks.connection, host.id, **values)
        readiness = now.readiness or Readiness(service.settings.of(FillerSettings).of(now).takes)
        put_readiness(locks, now, replace(readiness, begun=readiness.begun or locks.now), now.health)
        _news(locks.connection, FillerNews.LEAVES, replace(present, **values), locks.now)
        return True

    return _decide(service, resource, host, work)


def expect(service: Service, resource: Resource, host: FilledHost, takes: timedelta) -> bool:
    """Let nothing be promised on a host before it can be ready, if that takes another time than when it was granted."""

    def work(locks: Locks, now: Resource, present: FilledHost) -> bool:
        if present.told_at is not None:
            return False
        put_readiness(locks, now, Readiness(takes), now.health)
        return True

    return _decide(service, resource, host, work)


def give_up(service: Service, resource: Resource, host: FilledHost) -> bool:
    """Record that the servers of a filler do not end: its host has failed, so what is promised on it can be healed."""

    def work(locks: Locks, now: Resource, present: FilledHost) -> bool:
        if present.overdue_at is not None or now.readiness is None:
            return False
        rows.change_host(locks.connection, host.id, overdue_at=locks.now)
        put_readiness(locks, now, now.readiness, Health.FAILED)
        return True

    return _decide(service, resource, host, work)


def gone(service: Service, resource: Resource, host: FilledHost, claimer: str, facts: Mapping[str, Any]) -> int | None:
    """Record that nothing of a filler is on a host any more; return how many leases have waited for it.

    None: another manager has it, or has recorded it. One that had failed is admitted by the health check.
    """
    late: list[str] = []

    def work(locks: Locks, now: Resource, present: FilledHost) -> bool:
        late.clear()
        if present.claimer != claimer:
            # It may be at work there, and what runs there next must not be taken for what a filler has left.
            return False
        second = locks.now.replace(microsecond=0)
        late.extend(leases_on(locks.connection, [now.number], second, second))
        rows.change_host(
            locks.connection, host.id, ended_at=locks.now, facts=dict(facts), claimer=None, claim_until=None
        )
        rows.end_if_empty(locks.connection, host.filler_id, locks.now)
        put_readiness(locks, now, None, now.health)
        for lease_id in late:
            hurry_task(locks.connection, LEASE, lease_id, locks.now)
        _news(locks.connection, FillerNews.ENDED, replace(present, ended_at=locks.now, facts=facts), locks.now)
        return True

    return len(late) if _decide(service, resource, host, work, freed=True) else None


def tell_guarantee(service: Service, host: FilledHost, until: datetime | None, *, shorter: bool) -> None:
    """Record until when a host is guaranteed now, and tell its project if that is `shorter` than it was told."""

    def work(connection: Connection) -> None:
        present = rows.find_host(connection, host.id, lock=True)
        if present is None or present.told_at is not None or present.told_until != host.told_until:
            return
        rows.change_host(connection, host.id, told_until=until)
        if shorter:
            _news(connection, FillerNews.GUARANTEE, replace(present, told_until=until), service.now())

    service.db.transact(work)


def _news(connection: Connection, news: FillerNews, host: FilledHost, now: datetime) -> None:
    """Record an event of a host of a filler for its project."""
    filler = rows.fillers_by_id(connection, [host.filler_id])[host.filler_id]
    until = host.leaves_at or host.told_until
    payload = {
        **{name: getattr(filler, name) for name in ("id", "name", "project_id", "user_id")},
        "host": {
            "id": host.id,
            "state": host.stage(now).value,
            "guaranteed_until": None if until is None else until.isoformat(),
            "leaves_at": None if host.leaves_at is None else host.leaves_at.isoformat(),
            "reason": host.reason,
        },
    }
    put_project_event(connection, news, host.project_id, payload, now)


def _decide(service: Service, resource: Resource, host: FilledHost, work: Work, *, freed: bool = False) -> bool:
    """Run `work` on a host that a filler still has, with its pool locked, and say whether it has decided anything."""

    def locked(locks: Locks, now: Resource) -> bool:
        present = rows.find_host(locks.connection, host.id, lock=True)
        return present is not None and work(locks, now, present)

    return decide_about(service, resource, locked, freed=freed)


def type_of(service: Service, filler: Filler) -> ResourceType:
    """Return the type of the resources of a filler."""
    return service.types.get(filler.resource_type)
