"""The dependencies of every use case, assembled once by the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from leasehold.conf.settings import Settings
from leasehold.db.clock import utc_now
from leasehold.db.resources.owners import owners
from leasehold.enforcement.base import Enforcement
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.deciding.decide import Terms
from leasehold.leasing.deciding.queue import Queues
from leasehold.leasing.deciding.source import POOLS, Grounds, Source
from leasehold.leasing.deciding.waiting_order import LongestWaiting
from leasehold.leasing.enrolled import Enrolled
from leasehold.model.budget import Budget
from leasehold.model.placing.displacement import FewestServers
from leasehold.model.terms.lead import NO_LEAD, longest_lead
from leasehold.model.terms.margins import Margins

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.cloud.ports import Cloud
    from leasehold.db.resources.owners import Owner
    from leasehold.db.store import Database
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.deciding.clause import Clause
    from leasehold.leasing.deciding.waiting_order import ReadingOrder, WaitingOrder
    from leasehold.leasing.deciding.way import Way
    from leasehold.leasing.fit import Estimator
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.record import Record
    from leasehold.leasing.stay import Stays
    from leasehold.model.caller import Caller
    from leasehold.model.delay import Listener
    from leasehold.model.lease import Lease
    from leasehold.model.placing.displacement import EvictionStrategy
    from leasehold.model.properties import Expression
    from leasehold.model.terms.lead import Lead
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceTypes


Result = TypeVar("Result")
Words = Callable[["Service", "Caller", "Mapping[str, Any]", "Lease | None"], "Mapping[str, Any]"]
"""Returns a sent reservation without the words that it has read; gets its owner, and the lease that is amended."""
MakeWay = Callable[["Service", "Locks", "frozenset[str]"], "Way"]
"""Returns a way to make room under these locks; the leases with these ids stay as they are."""


Owns = Callable[["Connection", "Collection[str]"], "Mapping[str, Owner]"]
"""Returns by id whose these are that are no reservations, and have in the cloud what a reservation has."""


def nobody_to_wake() -> None:
    """Do nothing: a manager in another process polls for due work within a second."""


@dataclass(frozen=True, slots=True)
class Service:
    """The database, the calendars, the resource types and the cloud, with a clock.

    `questions` are calendars for questions that promise nothing and take long: no decision waits for them.
    `enrolled` are resources that such questions need not read again.
    `steady` returns seconds of a monotonic clock, which times decisions. `wake` tells a manager in the same process
    that work has become due. `words` are the features' own, which they read in a sent reservation before its type does;
    `sources` are those that their leases have resources from, `ways` how these make room for others, `clauses` look at
    each decision before it is written, `estimators` say more of windows in which a lease would fit, `records` say what
    became of promises, `stays` what somebody had without one, `owns` knows whose their objects in the cloud are, and
    `listeners` hear of requests that are delayed. In `queues` requests wait for each other.
    """

    db: Database
    calendars: Calendars
    types: ResourceTypes
    cloud: Cloud
    settings: Settings = field(default_factory=Settings)
    enforcement: Enforcement = field(default_factory=Enforcement)
    waiting_order: WaitingOrder | ReadingOrder = field(default_factory=LongestWaiting)
    strategy: EvictionStrategy = field(default_factory=FewestServers)
    now: Callable[[], datetime] = utc_now
    questions: Calendars = field(default_factory=Calendars)
    enrolled: Enrolled = field(default_factory=Enrolled)
    steady: Callable[[], float] = monotonic
    wake: Callable[[], None] = nobody_to_wake
    words: tuple[Words, ...] = ()
    sources: tuple[Source, ...] = ()
    listeners: tuple[Listener, ...] = ()
    ways: tuple[MakeWay, ...] = ()
    clauses: tuple[Clause, ...] = ()
    estimators: tuple[Estimator, ...] = ()
    records: tuple[Record, ...] = ()
    stays: tuple[Stays, ...] = ()
    owns: tuple[Owns, ...] = ()
    queues: Queues = field(default_factory=Queues)

    def owners(self, connection: Connection, ids: Collection[str]) -> Mapping[str, Owner]:
        """Return the owners of these by id: reservations, and what features have as such. Unknown ids are left out."""
        found = owners(connection, ids)
        for each in self.owns:
            found |= each(connection, ids)
        return found

    def source_of(self, lease: Lease) -> Source:
        """Return where the resources of a lease come from."""
        return next((each for each in self.sources if each.owns(lease)), POOLS)

    def grounds(self, locks: Locks, pools: Mapping[str, Snapshot]) -> Grounds:
        """Return what a source is asked with, about these pools, which are locked."""
        return Grounds(locks.connection, pools, locks.now, self.types, self.margins, self.lead_of)

    def decide(
        self, work: Callable[[Evaluated, Connection], Result], conditions: Sequence[tuple[str, Expression]] = ()
    ) -> Result:
        """Run a transaction that uses calendars, and repeat it after a calendar had to be reloaded (`Calendars`).

        The conditions, each with its pool, are evaluated before the transaction begins. Raises TakesTooLongError.
        """
        return self.calendars.transact(self.db, self.now, partial(self.evaluated, conditions), work)

    def look(
        self,
        pools: Collection[str],
        work: Callable[[Mapping[str, Snapshot], datetime], Result],
        conditions: Sequence[tuple[str, Expression]] = (),
        *,
        asks: bool = False,
    ) -> Result:
        """Run `work` on what is committed of these pools and promise nothing, without any lock (`Calendars.look`).

        One that `asks` uses the calendars for questions: no decision waits for it. The conditions are as in `decide`.
        Raises TakesTooLongError.
        """
        calendars = self.questions if asks else self.calendars
        return calendars.look(self.db, self.now, pools, work, partial(self.evaluated, conditions, calendars))

    def evaluated(self, conditions: Sequence[tuple[str, Expression]], calendars: Calendars | None = None) -> Evaluated:
        """Return the answers to conditions, each with its pool; raises TakesTooLongError."""
        return (calendars or self.calendars).evaluate(conditions, self.budget().check)

    def budget(self) -> Budget:
        """Return the time that a decision may take, from now on."""
        return Budget(self.settings.leases.decision_seconds, self.steady)

    def terms(self, window: Window, length: timedelta, *, use_disabled: bool = False, lead: Lead = NO_LEAD) -> Terms:
        """Return the terms of a decision that begins now; `window` is the part of the lease that lies ahead."""
        return Terms(window, length, self.margins, self.budget(), use_disabled=use_disabled, lead=lead)

    def lead_of(self, kinds: Iterable[Kind[Any]]) -> timedelta:
        """Return the lead of a new lease with reservations of these kinds: the longest that is configured for them."""
        return longest_lead(self.settings.leases.lead_time_by_type, ((each.name, each.resources) for each in kinds))

    @property
    def margins(self) -> Margins:
        """The cleaning time of each pool: the one that is configured for the type under which its resources enrol."""
        settings = self.settings.leases
        if not settings.cleaning_time_by_type:
            return Margins(settings.cleaning_time)
        found = ((self.types.find(name), time) for name, time in settings.cleaning_time_by_type.items())
        by_pool = {type_.kind.pool: time for type_, time in found if type_ is not None}
        return Margins(settings.cleaning_time, by_pool)
