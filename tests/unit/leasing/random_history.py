"""Random histories of a small service in which some resources are closed to some projects: nobody is promised those."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.leasing.reading import queries
from leasehold.manager.monitor import check_once
from leasehold.model.errors import LeaseholdError
from leasehold.model.resource import FLOATING_IP, HOST
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import flavors, floating_ips, hosts, instances, run_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease
    from leasehold.model.resource import Resource
    from tests.factory import World

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
ADDRESSES = (200, 201)
LABELS = (*HOSTS, *(f"203.0.113.{last}" for last in ADDRESSES))
ASKED = (
    hosts(1),
    hosts(2),
    hosts(1, 3),
    instances(3),
    instances(2, affinity=False),
    flavors(2),
    floating_ips(1),
    floating_ips(2),
)


class History(ABC):
    """A service on which moves are made; `admins` are the ids of the leases to which nothing is closed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.admins: set[str] = set()

    @abstractmethod
    def closed(self) -> set[tuple[str, str]]:
        """Return which projects may not be promised which resources: names of projects and labels."""

    @abstractmethod
    def caller(self, start: int, length: int) -> Caller:
        """Return who asks for a lease that starts in so many half hours and lasts so many."""

    def move(self, what: str, asked: Any, number: int, length: int) -> None:
        """Make a move, let the manager do all that is due, and check what was promised meanwhile."""
        closed, before = self.closed(), self._held()
        self.world.clock.advance(microseconds=1)
        with suppress(LeaseholdError):
            getattr(self, f"_{what}")(asked, number, length)
        run_for(self.world, seconds=10)
        closed &= self.closed()
        for (project, lease, label), slots in self._held().items():
            if (project, label) in closed and lease not in self.admins:
                assert slots <= before.get((project, lease, label), 0), (what, label)

    def resources(self) -> Iterator[Resource]:
        """Yield the enrolled hosts and addresses."""
        for kind in (HOST, FLOATING_IP):
            yield from queries.list_resources(self.world.service, kind)

    def _held(self) -> dict[tuple[str, str, str], int]:
        """Return the slots that each lease of each project has of each resource up to its end."""
        held: dict[tuple[str, str, str], int] = defaultdict(int)
        for lease in list(queries.each_lease(self.world.service, None)):
            for position in range(len(lease.reservations)):
                for label, slots in self.world.holds(lease, position).items():
                    held[lease.project_id, lease.id, label] += slots
        return held

    def ask(self, asked: Any, start: int, length: int, **more: Any) -> Lease:
        """Ask for a lease."""
        hours = (self.world.now() - self.world.hour(0)).total_seconds() // 60 / 60 + start / 2
        return self.world.lease(asked, start=hours, end=hours + length / 2, **more)

    def _lease(self, asked: Any, start: int, length: int) -> None:
        self.ask(asked, start, length, caller=self.caller(start, length))

    def _waitlist(self, asked: Any, start: int, length: int) -> None:
        waits = {"type": LeaseType.WAITLIST, "deadline": self.world.now() + timedelta(hours=3)}
        who = self.caller(start, length)
        self.ask(asked, start, length, caller=who, retry_pause=timedelta(minutes=5), **waits)

    def some(self, number: int) -> Lease:
        """Return one of the leases; raises LeaseholdError if there is none."""
        every = list(queries.each_lease(self.world.service, None))
        found = [each for each in every if not each.is_maintenance and each.id not in self.admins]
        if not found:
            raise LeaseholdError("There is no lease.")
        return found[number % len(found)]

    def _extend(self, _: Any, number: int, length: int) -> None:
        lease = self.some(number)
        self.world.amend(lease, end=lease.window.end + timedelta(hours=length / 2))

    def _grow(self, _: Any, number: int, length: int) -> None:
        lease = self.some(number)
        whole = "max" in lease.reservations[0].request
        self.world.amend(lease, {"min": length, "max": length} if whole else {"amount": length})

    def _delete(self, _: Any, number: int, __: int) -> None:
        self.world.delete(self.some(number))

    def _swap(self, _: Any, number: int, __: int) -> None:
        lease = self.some(number)
        self.world.swap(lease, host=next(iter(self.world.holds(lease)), "none"))

    def _fail(self, _: Any, number: int, __: int) -> None:
        self.world.fail(HOSTS[number % len(HOSTS)])

    def _recover(self, _: Any, number: int, __: int) -> None:
        self.world.recover(HOSTS[number % len(HOSTS)])

    def _pass(self, _: Any, number: int, __: int) -> None:
        run_for(self.world, minutes=number)
        check_once(self.world.service)
