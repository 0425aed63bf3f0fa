"""What every use case works with, put together once by the composition root."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from leasehold.conf.settings import Settings
from leasehold.db.clock import utc_now
from leasehold.enforcement.base import Enforcement
from leasehold.leasing.decide import Terms
from leasehold.model.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Cloud
    from leasehold.db.store import Database
    from leasehold.leasing.calendars import Calendars, Evaluated
    from leasehold.model.properties import Expression
    from leasehold.model.windows import Window
    from leasehold.resource_types.registry import ResourceTypes


Result = TypeVar("Result")


def nobody_to_wake() -> None:
    """Do nothing: the manager runs in another process and looks for itself within a second."""


@dataclass(frozen=True, slots=True)
class Service:
    """The database, the calendars, the resource types and the cloud, with a clock.

    `steady` tells seconds of a clock that never goes back, by which decisions are timed. `wake` tells a manager in the
    same process that work has become due.
    """

    db: Database
    calendars: Calendars
    types: ResourceTypes
    cloud: Cloud
    settings: Settings = field(default_factory=Settings)
    enforcement: Enforcement = field(default_factory=Enforcement)
    now: Callable[[], datetime] = utc_now
    steady: Callable[[], float] = monotonic
    wake: Callable[[], None] = nobody_to_wake

    def decide(
        self, work: Callable[[Evaluated, Connection], Result], conditions: Sequence[tuple[str, Expression]] = ()
    ) -> Result:
        """Run a transaction that uses calendars, again where one of them has to be loaded anew (`Calendars`).

        The conditions, each with its pool, are evaluated before the transaction begins; raises TakesTooLongError.
        """

        def evaluate() -> Evaluated:
            budget = Budget(self.settings.leases.decision_seconds, self.steady)
            return self.calendars.evaluate(conditions, budget.check)

        return self.calendars.transact(self.db, self.now, evaluate, work)

    def terms(self, window: Window, length: timedelta) -> Terms:
        """Return the terms of a decision that begins now, about what lies ahead of a lease of this length."""
        settings = self.settings.leases
        return Terms(window, length, settings.cleaning_time, Budget(settings.decision_seconds, self.steady))
