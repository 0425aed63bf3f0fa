"""What every use case works with, put together once by the composition root."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from leasehold.books.clock import utc_now
from leasehold.conf.settings import Settings
from leasehold.enforcement.base import Enforcement

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.books.store import Books
    from leasehold.cloud.ports import Cloud
    from leasehold.leasing.calendars import Calendars
    from leasehold.resource_types.registry import ResourceTypes


Result = TypeVar("Result")


def nobody_to_wake() -> None:
    """Do nothing: the manager runs in another process and looks for itself within a second."""


@dataclass(frozen=True, slots=True)
class Service:
    """The books, the calendars, the resource types and the cloud, with a clock.

    `steady` tells seconds of a clock that never goes back, by which decisions are timed. `wake` tells a manager in the
    same process that work has become due.
    """

    books: Books
    calendars: Calendars
    types: ResourceTypes
    cloud: Cloud
    settings: Settings = field(default_factory=Settings)
    enforcement: Enforcement = field(default_factory=Enforcement)
    now: Callable[[], datetime] = utc_now
    steady: Callable[[], float] = monotonic
    wake: Callable[[], None] = nobody_to_wake

    def decide(self, work: Callable[[Connection], Result]) -> Result:
        """Run a transaction that uses calendars, again where one of them has to be loaded anew (`Calendars`)."""
        return self.calendars.transact(self.books, self.now, work)
