"""The driver of a resource type: it converges the cloud to the database (design §6).

The core does time, transactions, retries, events and repair. A driver compares what a reservation should have with what
the cloud has, and removes the difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from leasehold.cloud.ports import RESERVATION_TAG, CloudTransientError
from leasehold.conf.settings import CloudSettings
from leasehold.model.errors import MissingPluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.waits import Waits

R = TypeVar("R")
MARK = RESERVATION_TAG
LEASE_KEY = "leasehold:lease"
"""The metadata key of an aggregate that names the lease, if the lease has no other reservation."""


def mark_of(reservation_id: str) -> str:
    """Return the name or tag that links a cloud object to its reservation (contract resources §3, §5)."""
    return f"{MARK}{reservation_id}"


class ResourceUser(NamedTuple):
    """What uses a resource: the id of a server or of a port, and its project."""

    ident: str
    project_id: str


def users_of(servers: Iterable[Server]) -> list[ResourceUser]:
    """Return what uses a resource that has these servers."""
    return [ResourceUser(server.id, server.project_id) for server in servers]


UNSAVED = "unsaved"
"""The fact with what was asked for and not complete when the reservation ended: the number by a noun in the plural."""
GUESTS = "guests"
"""The fact with the ids of the allocations on resources that had servers at the end: those serve everybody then."""


class HostName(NamedTuple):
    """The two names of a host: aggregates name hosts by the first, Placement by the second."""

    service_host: str
    hypervisor_hostname: str


class LearnedError(CloudTransientError):
    """Raised to store `facts` before converge continues; the core stores them like facts that converge returns."""

    def __init__(self, message: str, facts: Mapping[str, Any]) -> None:
        """`message` is for people, `facts` are for the database."""
        super().__init__(message)
        self.facts = facts


class Wanted(StrEnum):
    """The state that the cloud should have for a reservation.

    PREPARED touches none of its resources: until the start, others may take their place.
    """

    PREPARED = "prepared"
    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Holding:
    """A resource that a reservation holds, with the number of slots and the id of the allocation."""

    resource: Resource
    slots: int
    allocation_id: int

    @property
    def host_name(self) -> HostName:
        """The names of the host; only of a resource that is one."""
        attributes = self.resource.attributes
        return HostName(attributes["service_name"], attributes["hypervisor_hostname"])


@dataclass(frozen=True, slots=True)
class Convergence(Generic[R]):
    """One reservation to converge: its project, its holdings, and earlier holdings that are not released.

    `kind` is None if the type's plugin cannot be used. `former` are holdings that ended but are not released, e.g. of a
    host that an amendment gave up. `left` are holdings on vacated hosts: hosts that failed or were swapped, and are no
    longer used, but whose servers are not deleted before the reservation ends. `warned` is the time of the lease's
    warning if it is due, and of its end if it has no warning; None for a lease that is deleted or over. `waits` says
    from when an end counts its waits; None if it may wait for nothing. `kept_until` is until when no server is deleted
    after the end, and none can be added; None when that time is over, and for a deleted lease. `removed` says that the
    lease is deleted, or the reservation dropped. `spared` are released with the others and never touched: somebody else
    uses them. `alone` says that its lease has no other reservation. `marks` are further metadata of its
    aggregate of hosts.
    """

    project_id: str
    reservation: Reservation
    kind: Kind[R] | None
    holdings: tuple[Holding, ...] = ()
    former: tuple[Holding, ...] = ()
    left: tuple[Holding, ...] = ()
    settings: CloudSettings = field(default_factory=CloudSettings)
    warned: datetime | None = None
    waits: Waits | None = None
    kept_until: datetime | None = None
    removed: bool = False
    spared: tuple[Holding, ...] = ()
    alone: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The reservation's id, which names everything it has in the cloud (contract resources §2, §3)."""
        return self.reservation.id

    @property
    def lease_mark(self) -> dict[str, str]:
        """The metadata of a new aggregate by which the scheduler filter takes the lease's id as a hint.

        One that was made before stays as it is, Blazar's as well: its reservation's id is a hint in any case.
        """
        made = "aggregate_id" in self.reservation.cloud
        return {LEASE_KEY: self.reservation.lease_id} if self.alone and not made else {}

    @property
    def projects(self) -> frozenset[str]:
        """The projects that may use it."""
        return frozenset((self.project_id, *self.reservation.shared_with))

    @property
    def gives_back(self) -> bool:
        """Whether resources with servers are given back to everybody at the end; not if the lease is deleted."""
        return self.reservation.ending.gives_back and self.kept_until is not None

    @property
    def guests(self) -> frozenset[int]:
        """The ids of the allocations on resources that had servers at the end, as `converge` has stored them."""
        return frozenset(self.reservation.cloud.get(GUESTS, ()))

    @property
    def request(self) -> R:
        """The reservation's request as its kind loads it; raises MissingPluginError without a kind."""
        if self.kind is None:
            raise MissingPluginError(self.reservation.resource_type, "cannot be used")
        return self.kind.load(self.reservation.request)

    @property
    def all_holdings(self) -> tuple[Holding, ...]:
        """All unreleased holdings of the reservation, used or not."""
        return (*self.holdings, *self.former, *self.left)


class Driver(ABC, Generic[R]):
    """What every resource type does in a cloud; what only some can do is a base class each (`capabilities.py`)."""

    @abstractmethod
    def converge(self, cloud: Cloud, job: Convergence[R], wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match `wanted`; return facts for the view, e.g. `aggregate_id`. It has to be idempotent.

        Raises CloudTransientError while something is in progress (servers that are being removed), and
        CloudPermanentError if the cloud refuses; both are retried, the latter with longer pauses.
        """
