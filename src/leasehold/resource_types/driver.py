"""The driver of a resource type: it converges the cloud to the database (design §6).

The core does time, transactions, retries, events and repair. A driver compares what a reservation should have with what
the cloud has, and removes the difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from leasehold.cloud.ports import RESERVATION_TAG, CloudTransientError
from leasehold.conf.settings import CloudSettings
from leasehold.model.errors import ConflictError, InvalidInputError, MissingPluginError
from leasehold.model.placing.draw import Room
from leasehold.model.terms.ending import OnEnd

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.model.caller import Caller
    from leasehold.model.finding import Finding
    from leasehold.model.placing.draw import Guest
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.enrolment import Discovery, Report
    from leasehold.resource_types.fields import RequestBody
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.look import CloudObject, Look
    from leasehold.resource_types.records import Records
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
    uses them. `alone` says that its lease has no other reservation.
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
    """What a resource type does in a cloud. Every method has to be idempotent.

    The defaults are for a type that needs nothing from the cloud before a decision, and nothing done before its end.
    """

    for_caller: ClassVar[str] = "object in its owner's name"
    """What `act_for_caller` makes; for log lines."""

    description: ClassVar[type[RequestBody] | None] = None
    """What an administrator writes to enrol a resource; None if this type has no resources of its own."""
    task: ClassVar[str] = ""
    """The kind of the task that keeps an enrolled resource in its place; empty for a type that has none."""
    shared: ClassVar[str | None] = None
    """The attribute of which no two enrolled resources may have the same value; None where there is none."""
    movable: ClassVar[bool] = False
    """Whether a resource can be shared, and be moved into the reservation pool: `draw`, `share` and `reopen` are there.

    Such a type has a `task`, and `sized_guests` and `room`."""
    outlives: ClassVar[bool] = False
    """Whether servers of a reservation may outlive its lease: `converge` minds `job.kept_until`, `kept` tells where."""
    gives_back: ClassVar[bool] = False
    """Whether a resource may serve everybody after a lease, with its servers: `converge` minds `job.gives_back`.

    Before it leaves a resource with servers to everybody, it stores the allocations of all such resources (`GUESTS`).
    Such a type is `movable`, and outlives."""
    gives_up: ClassVar[bool] = False
    """Whether an active reservation can give up what it does not use: `used` and `give_up` are there."""
    vacates: ClassVar[bool] = False
    """Whether an active reservation can lose a single resource on request: `uses` is there.

    Of a type that also `gives_up`, `converge` leaves servers on `job.left` alone; of any other it ends `job.former`."""
    swappable: ClassVar[bool] = False
    """Whether a resource in use can be swapped: `converge` leaves servers on `job.left` alone, `guests` lists them."""

    @property
    def endings(self) -> tuple[OnEnd, ...]:
        """The ways in which reservations of this type may end; none if they have no servers that could live on."""
        if not self.outlives:
            return ()
        return (OnEnd.DELETE, OnEnd.RECYCLE, OnEnd.GIVE_BACK) if self.gives_back else (OnEnd.DELETE, OnEnd.RECYCLE)

    def discover(self, cloud: Cloud, settings: CloudSettings, description: Mapping[str, Any]) -> Discovery:  # noqa: ARG002 - a default
        """Find what an administrator describes, in the fields of `description`.

        Raises NotFoundError, InvalidInputError, InUseError and CloudError.
        """
        raise InvalidInputError("Resources of this type cannot be enrolled.", field="resource_type")

    def candidates(
        self,
        cloud: Cloud,  # noqa: ARG002 - a default
        settings: CloudSettings,  # noqa: ARG002 - a default
        enrolled: Collection[str],  # noqa: ARG002 - a default
    ) -> Sequence[Discovery] | None:
        """Return what `discover` would find and is not among the ids of `enrolled`; None if that cannot be listed.

        Capacity and traits may be absent; `membership` is the pool for which each can be enrolled as it is. Raises
        CloudError.
        """
        return None

    def place(
        self,
        cloud: Cloud,
        settings: CloudSettings,
        attributes: Mapping[str, Any],
        *,
        leased: bool,
    ) -> None:
        """Put an enrolled resource where it belongs; with `leased` only what a lease does not do by itself."""

    def release(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any], *, alone: bool) -> None:
        """Undo `place`; without `alone` another enrolled resource has the same shared attribute."""

    def draw(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> str | None:  # noqa: ARG002 - a default
        """Do a next step to empty a shared resource, and put it where it belongs once nothing runs on it.

        Returns what is still on it, such as `3 servers`; None when it is in its place, and as open as it was. Raises
        CloudError.
        """
        return None

    def share(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> None:
        """Let a resource serve everybody, with all that runs on it; undoes a `draw` that was not completed."""

    def reopen(self, cloud: Cloud, attributes: Mapping[str, Any]) -> None:
        """Undo what a `draw` may have left on a resource that is in the reservation pool."""

    def attributes_of(self, cloud: Cloud, settings: CloudSettings, ident: str) -> Mapping[str, Any] | None:  # noqa: ARG002 - a default
        """Return the attributes of the thing with this id, None where there is none: to undo an enrolment by its id."""
        return None

    def shared_error(self, found: Discovery, other: str) -> ConflictError:
        """Return the refusal of a thing whose shared attribute the enrolled resource `other` has."""
        return ConflictError(f"{found.reference} cannot be enrolled beside {other}: they have the same {self.shared}.")

    def users(self, cloud: Cloud, attributes: Mapping[str, Any]) -> str | None:  # noqa: ARG002 - a default
        """Return what uses a resource in the cloud, such as `3 servers`, which keeps it from being removed; or None."""
        return None

    def is_leased(self, cloud: Cloud, attributes: Mapping[str, Any], reservation_ids: Collection[str]) -> bool:  # noqa: ARG002 - a default
        """Return whether one of these reservations has the resource in the cloud."""
        return False

    def reports(self, cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:  # noqa: ARG002 - a default
        """Return by number how resources are now; one that is missing keeps its state. Raises CloudError."""
        return {}

    def concerns(self, event_type: str, payload: Mapping[str, Any]) -> bool:  # noqa: ARG002 - a default
        """Return whether a notification on the message bus is a reason to ask `reports` at once.

        Pure and quick: it is asked about every notification, of whatever service, on the topics that are read. Anybody
        with access to the bus may have sent it, so any value of the payload may be missing or of another type.
        """
        return False

    def discovered(
        self,
        cloud: Cloud,  # noqa: ARG002 - a default
        settings: CloudSettings,  # noqa: ARG002 - a default
        resources: Sequence[Resource],  # noqa: ARG002 - a default
    ) -> Mapping[int, Discovery]:
        """Return by number what `discover` would find now for enrolled resources; one that is missing stays as it was.

        Their state is asked by `reports`, and is not looked at here. Raises CloudError.
        """
        return {}

    def guests(self, cloud: Cloud, resources: Sequence[Resource]) -> Mapping[int, Sequence[Server]]:  # noqa: ARG002 - a default
        """Return by number the servers on these resources, of every project, for a swap (feature J6).

        Only for a type that is `swappable`. Raises CloudError.
        """
        return {}

    def sized_guests(
        self,
        cloud: Cloud,  # noqa: ARG002 - a default
        settings: CloudSettings,  # noqa: ARG002 - a default
        resources: Sequence[Resource],  # noqa: ARG002 - a default
    ) -> Mapping[int, Sequence[Guest]]:
        """Return by number the servers on shared resources with their sizes; changes nothing. Raises CloudError."""
        return {}

    def room(self, cloud: Cloud, resource: Resource) -> Room:  # noqa: ARG002 - a default
        """Return what is free for servers on a shared resource; changes nothing. Raises CloudError."""
        return Room({})

    def resolve(self, cloud: Cloud, caller: Caller, request: R) -> R:  # noqa: ARG002 - a default
        """Complete a request with facts from the cloud; called before the decision, outside its transaction."""
        return request

    def wants_caller(self, cloud: Cloud, reservation: Reservation, request: R) -> bool:  # noqa: ARG002 - a default
        """Return whether `act_for_caller` has to make, replace or remove an object; called after a decision."""
        return False

    def act_for_caller(
        self,
        cloud: Cloud,  # noqa: ARG002 - a default
        reservation: Reservation,  # noqa: ARG002 - a default
        request: R,  # noqa: ARG002 - a default
        token: str | None,  # noqa: ARG002 - a default
    ) -> Mapping[str, Any]:
        """Make an object with the caller's token, and return the facts to store; without a token, facts of no object.

        Raises CloudError.
        """
        return {}

    def discard(self, cloud: Cloud, facts: Mapping[str, Any]) -> None:
        """Remove an object that `act_for_caller` made and that is no longer needed; a failure is logged, not raised."""

    def audit(self, look: Look) -> Iterable[Finding]:  # noqa: ARG002 - a default
        """Yield what is wrong with the enrolled resources in the cloud; raises CloudError."""
        return ()

    def repair(self, look: Look, resource: Resource) -> str | None:  # noqa: ARG002 - a default
        """Repair a finding with `Mend.DRIVER`; return what was done as a sentence, or None. Raises CloudError."""
        return None

    def objects(self, look: Look) -> Iterable[CloudObject]:  # noqa: ARG002 - a default
        """Yield the cloud objects that have a reservation's name and our mark; raises CloudError."""
        return ()

    def in_use(self, look: Look, thing: CloudObject) -> bool:  # noqa: ARG002 - a default
        """Return whether somebody uses one of `objects`, which is not removed then."""
        return False

    def remove(self, look: Look, thing: CloudObject) -> None:
        """Remove one of `objects`; raises CloudError."""

    @abstractmethod
    def converge(self, cloud: Cloud, job: Convergence[R], wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match `wanted`; return facts for the view, e.g. `aggregate_id`.

        Raises CloudTransientError while something is in progress (servers that are being removed), and
        CloudPermanentError if the cloud refuses; both are retried, the latter with longer pauses.
        """

    def needs(self, cloud: Cloud, job: Convergence[R]) -> Mapping[HostName, Mapping[str, int] | None]:  # noqa: ARG002 - a default
        """Return what the start will take of hosts on which preemptible servers may run (feature K1).

        Amounts by resource class, None for all of a host. Called before the start. Raises CloudError.
        """
        return {}

    def make_way(self, cloud: Cloud, job: Convergence[R], error: CloudTransientError, records: Records) -> None:
        """Remove leftovers of ended leases that block this reservation; called when `converge` raised `error`.

        Only what certainly belonged to a lease that is over may be removed. Raises CloudError.
        """

    def started(self, cloud: Cloud, job: Convergence[R], records: Records) -> None:
        """Clean up after a complete start; a CloudError is only logged."""

    def occupied(self, cloud: Cloud, job: Convergence[R]) -> frozenset[int]:  # noqa: ARG002 - a default
        """Return the allocation ids of `job.left` that cannot be released yet; called after `converge`."""
        return frozenset()

    def kept(self, cloud: Cloud, job: Convergence[R]) -> frozenset[int]:  # noqa: ARG002 - a default
        """Return the allocation ids on whose resources servers live on after the end; the others are released.

        A resource on which a call of `converge` failed is kept too, because nobody would repeat the call. Called after
        `converge` while `job.kept_until` lies ahead. Raises CloudError.
        """
        return frozenset(holding.allocation_id for holding in job.all_holdings)

    def used(self, cloud: Cloud, job: Convergence[R]) -> frozenset[int]:  # noqa: ARG002 - a default
        """Return the allocation ids of `job.holdings` on whose resources the reservation has servers.

        Only for a type that `gives_up`. Called after `converge`. Raises CloudError.
        """
        return frozenset(holding.allocation_id for holding in job.holdings)

    def uses(self, cloud: Cloud, job: Convergence[R]) -> Mapping[int, Collection[ResourceUser]]:  # noqa: ARG002 - a default
        """Return by allocation id, of `job.holdings` and `job.left`, what uses them; what is not there is unused.

        Only for a type that `vacates`; changes nothing. Raises CloudError.
        """
        return {}

    def give_up(self, cloud: Cloud, job: Convergence[R], holding: Holding) -> bool:  # noqa: ARG002 - a default
        """Take a resource out of an active reservation that has no server there; return whether it is out.

        False, and the reservation keeps it, if something is on its way there. Raises CloudError while it is not known;
        then `converge` puts the resource back, and this is tried again. Only for a type that `gives_up`.
        """
        return False

    def before_end(self, cloud: Cloud, job: Convergence[R]) -> Mapping[str, Any] | None:  # noqa: ARG002 - a default
        """Do what the reservation requested for the time before its end; return facts to store, if there are any.

        Raises CloudTransientError until it is complete: it is called again while the warning is not done.
        """
        return None
