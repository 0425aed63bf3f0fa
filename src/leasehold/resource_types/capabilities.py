"""What some drivers can do beside `Driver.converge`: a base class for each ability, with what belongs to it.

A driver derives from the abilities that its type has, and whoever needs one asks `isinstance(driver, Swappable)`. They
are abstract base classes, and not protocols, because some also promise what `converge` does, which no signature shows.
A driver that has the methods of an ability and does not derive from it is refused when it is loaded (`undeclared`).
Every method has to be idempotent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from leasehold.cloud.ports import CloudTransientError
from leasehold.model.errors import ConflictError
from leasehold.model.terms.ending import OnEnd

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server, ServiceReport
    from leasehold.conf.settings import CloudSettings
    from leasehold.model.caller import Caller
    from leasehold.model.finding import Finding
    from leasehold.model.placing.draw import Guest, Room
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.driver import Convergence, Driver, Holding, HostName, ResourceUser
    from leasehold.resource_types.enrolment import Discovery, Report
    from leasehold.resource_types.fields import RequestBody
    from leasehold.resource_types.look import CloudObject, Look
    from leasehold.resource_types.records import Records


Place: TypeAlias = "tuple[str, int]"
"""What a reservation holds of a resource: the reservation's id and the resource's number."""


class Capability(ABC):  # noqa: B024 - the abilities below have the abstract methods
    """An ability that a driver may have."""


# ------------------------------------------------------------ its resources


class Enrollable(Capability):
    """The type has resources of its own, which administrators enrol."""

    description: ClassVar[type[RequestBody]]
    """What an administrator writes to enrol a resource."""

    @abstractmethod
    def discover(self, cloud: Cloud, settings: CloudSettings, description: Mapping[str, Any]) -> Discovery:
        """Find what an administrator describes, in the fields of `description`.

        Raises NotFoundError, InvalidInputError, InUseError and CloudError.
        """


class Enumerable(Enrollable):
    """What could be enrolled can be listed."""

    @abstractmethod
    def candidates(self, cloud: Cloud, settings: CloudSettings, enrolled: Collection[str]) -> Sequence[Discovery]:
        """Return what `discover` would find and is not among the ids of `enrolled`.

        Capacity and traits may be absent; `membership` is the pool for which each can be enrolled as it is. Raises
        CloudError.
        """


class Exclusive(Enrollable):
    """No two enrolled resources may have the same value of an attribute."""

    shared: ClassVar[str]
    """The attribute."""

    def shared_error(self, found: Discovery, other: str) -> ConflictError:
        """Return the refusal of a thing whose shared attribute the enrolled resource `other` has."""
        return ConflictError(f"{found.reference} cannot be enrolled beside {other}: they have the same {self.shared}.")


class Placed(Enrollable):
    """An enrolled resource has a place in the cloud while no lease has it, and a task keeps it there."""

    task: ClassVar[str]
    """The kind of the task."""

    @abstractmethod
    def place(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any], *, leased: bool) -> None:
        """Put an enrolled resource where it belongs; with `leased` only what a lease does not do by itself."""

    @abstractmethod
    def release(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any], *, alone: bool) -> None:
        """Undo `place`; without `alone` another enrolled resource has the same shared attribute."""

    @abstractmethod
    def is_leased(self, cloud: Cloud, attributes: Mapping[str, Any], reservation_ids: Collection[str]) -> bool:
        """Return whether one of these reservations has the resource in the cloud."""

    @abstractmethod
    def attributes_of(self, cloud: Cloud, settings: CloudSettings, ident: str) -> Mapping[str, Any] | None:
        """Return the attributes of the thing with this id, None where there is none: to undo an enrolment by its id."""

    @abstractmethod
    def users(self, cloud: Cloud, attributes: Mapping[str, Any]) -> str | None:
        """Return what uses a resource in the cloud, such as `3 servers`, which keeps it from being removed; or None."""


class Closable(Capability):
    """Work of ours may leave a resource closed for everybody."""

    @abstractmethod
    def reopen(self, cloud: Cloud, attributes: Mapping[str, Any]) -> None:
        """Open a resource of the reservation pool that a `draw` or a `close` has left closed, and no other one."""


class Movable(Placed, Closable):
    """A resource can be shared, so that it serves everybody, and be drawn into the reservation pool again."""

    @abstractmethod
    def draw(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> str | None:
        """Do a next step to empty a shared resource, and put it where it belongs once nothing runs on it.

        Returns what is still on it, such as `3 servers`; None when it is in its place, and as open as it was. Raises
        CloudError.
        """

    @abstractmethod
    def share(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> None:
        """Let a resource serve everybody, with all that runs on it; undoes a `draw` that was not completed."""

    @abstractmethod
    def sized_guests(
        self, cloud: Cloud, settings: CloudSettings, resources: Sequence[Resource]
    ) -> Mapping[int, Sequence[Guest]]:
        """Return by number the servers on shared resources with their sizes; changes nothing. Raises CloudError."""

    @abstractmethod
    def room(self, cloud: Cloud, resource: Resource) -> Room:
        """Return what is free for servers on a shared resource; changes nothing. Raises CloudError."""


class StillClosingError(CloudTransientError):
    """A resource has been closed, and it cannot be said yet whether something comes all the same: ask again soon."""


class Resting(Enrollable, Closable):
    """A resource can be closed while nobody needs it, so that its machine can be switched off; `reopen` opens it.

    Where leases have such resources, the database says which of them are used. Where none can (`Kind.leased`), only
    `is_used` does.
    """

    @abstractmethod
    def is_used(self, cloud: Cloud, attributes: Mapping[str, Any]) -> bool:
        """Return whether something is on a resource now, which changes nothing; only `close` proves that nothing is.

        Raises CloudError.
        """

    @abstractmethod
    def close(self, cloud: Cloud, attributes: Mapping[str, Any]) -> str | None:
        """Let nothing come to a resource any more; return what is on it, or on its way there, such as `2 servers`.

        None: nothing is, and nothing comes until `reopen`. Raises CloudError, and StillClosingError.
        """

    @abstractmethod
    def is_closed(self, cloud: Cloud, attributes: Mapping[str, Any]) -> bool:
        """Return whether `close` has closed a resource, and nothing has opened it since. Raises CloudError."""

    @abstractmethod
    def report(self, cloud: Cloud, attributes: Mapping[str, Any]) -> ServiceReport:
        """Return whether what makes the resource usable is up, and when it has last said so. Raises CloudError."""


class Reporting(Capability):
    """The driver knows how enrolled resources are."""

    @abstractmethod
    def reports(self, cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:
        """Return by number how resources are now; one that is missing keeps its state. Raises CloudError."""


class Notified(Reporting):
    """Notifications on the message bus are a reason to ask `reports` at once."""

    @abstractmethod
    def concerns(self, event_type: str, payload: Mapping[str, Any]) -> bool:
        """Return whether a notification is such a reason.

        Pure and quick: it is asked about every notification, of whatever service, on the topics that are read. Anybody
        with access to the bus may have sent it, so any value of the payload may be missing or of another type.
        """


class Surveyed(Capability):
    """What an enrolled resource has may change, and is read again."""

    @abstractmethod
    def discovered(
        self, cloud: Cloud, settings: CloudSettings, resources: Sequence[Resource]
    ) -> Mapping[int, Discovery]:
        """Return by number what `discover` would find now for enrolled resources; one that is missing stays as it was.

        Their state is asked by `reports`, and is not looked at here. Raises CloudError.
        """


# ------------------------------------------------------------ the audit


class Audited(Capability):
    """Something may be wrong with enrolled resources in the cloud."""

    @abstractmethod
    def audit(self, look: Look) -> Iterable[Finding]:
        """Yield what is wrong with the enrolled resources in the cloud; raises CloudError."""


class Repairing(Audited):
    """The driver itself repairs findings with `Mend.DRIVER`."""

    @abstractmethod
    def repair(self, look: Look, resource: Resource) -> str | None:
        """Repair such a finding; return what was done as a sentence, or None. Raises CloudError."""


class Marking(Capability):
    """Reservations have objects in the cloud with their name and our mark, which may be left over."""

    @abstractmethod
    def objects(self, look: Look) -> Iterable[CloudObject]:
        """Yield these objects; raises CloudError."""

    @abstractmethod
    def remove(self, look: Look, thing: CloudObject) -> None:
        """Remove one of `objects`; raises CloudError."""


class Sparing(Marking):
    """Somebody may use an object that is left over."""

    @abstractmethod
    def in_use(self, look: Look, thing: CloudObject) -> bool:
        """Return whether somebody uses one of `objects`, which is not removed then."""


# ------------------------------------------------------------ before a lease begins


class Resolving(Capability):
    """A request needs facts from the cloud."""

    @abstractmethod
    def resolve(self, cloud: Cloud, caller: Caller, request: Any) -> Any:
        """Return the request with them; called before the decision, outside its transaction."""


class ActingForCaller(Capability):
    """Something for a reservation can be made with its caller's token only."""

    for_caller: ClassVar[str]
    """What `act_for_caller` makes; for log lines."""

    @abstractmethod
    def wants_caller(self, cloud: Cloud, reservation: Reservation, request: Any) -> bool:
        """Return whether `act_for_caller` has to make, replace or remove an object; called after a decision."""

    @abstractmethod
    def act_for_caller(
        self, cloud: Cloud, reservation: Reservation, request: Any, token: str | None
    ) -> Mapping[str, Any]:
        """Make an object with the caller's token, and return the facts to store; without a token, facts of no object.

        Raises CloudError.
        """

    @abstractmethod
    def discard(self, cloud: Cloud, facts: Mapping[str, Any]) -> None:
        """Remove an object that `act_for_caller` made and that is no longer needed; a failure is logged, not raised."""


class Displacing(Capability):
    """A start ends preemptible servers (feature K1)."""

    @abstractmethod
    def needs(self, cloud: Cloud, job: Convergence[Any]) -> Mapping[HostName, Mapping[str, int] | None]:
        """Return what the start will take of hosts on which preemptible servers may run.

        Amounts by resource class, None for all of a host. Called before the start. Raises CloudError.
        """


class MakingWay(Capability):
    """What ended leases have left can block a reservation."""

    @abstractmethod
    def make_way(self, cloud: Cloud, job: Convergence[Any], error: CloudTransientError, records: Records) -> None:
        """Remove such leftovers; called when `converge` raised `error`.

        Only what certainly belonged to a lease that is over may be removed. Raises CloudError.
        """


class CleaningUp(Capability):
    """There is something to clean up after a start."""

    @abstractmethod
    def started(self, cloud: Cloud, job: Convergence[Any], records: Records) -> None:
        """Clean up after a complete start; a CloudError is only logged."""


# ------------------------------------------------------------ while it is active


class Swappable(Capability):
    """A resource in use can be swapped: `converge` leaves servers on `job.left` alone (feature J6)."""

    @abstractmethod
    def guests(self, cloud: Cloud, resources: Sequence[Resource]) -> Mapping[int, Sequence[Server]]:
        """Return by number the servers on these resources, of every project. Raises CloudError."""


class Counting(Capability):
    """What is used of active reservations can be counted, for the record of usage."""

    @abstractmethod
    def counted(self, cloud: Cloud, jobs: Sequence[Convergence[Any]]) -> Mapping[Place, int]:
        """Return how much is used of what the holdings of these reservations are, in the unit of their requests.

        By whom they are for; a place that is missing is unused. Asks the cloud once for all where it can, and changes
        nothing. Raises CloudError.
        """


class Retaining(Capability):
    """A resource that healing or a swap replaced may have to stay allocated for a while."""

    @abstractmethod
    def occupied(self, cloud: Cloud, job: Convergence[Any]) -> frozenset[int]:
        """Return the allocation ids of `job.left` that cannot be released yet; called after `converge`."""


class Vacating(Capability):
    """An active reservation can lose a single resource on request.

    If the type is `GivingUp` as well, `converge` leaves servers on `job.left` alone; otherwise it ends `job.former`.
    """

    @abstractmethod
    def uses(self, cloud: Cloud, job: Convergence[Any]) -> Mapping[int, Collection[ResourceUser]]:
        """Return by allocation id, of `job.holdings` and `job.left`, what uses them; what is not there is unused.

        Changes nothing. Raises CloudError.
        """


class Lending(Vacating):
    """An active reservation can lend resources that nothing uses to another lease, and gets them back.

    `converge` minds what came back (`Allocation.lent`), and never touches `job.spared`.
    """


class GivingUp(Capability):
    """An active reservation can give up what it does not use."""

    @abstractmethod
    def used(self, cloud: Cloud, job: Convergence[Any]) -> frozenset[int]:
        """Return the allocation ids of `job.holdings` on whose resources the reservation has servers.

        Called after `converge`. Raises CloudError.
        """

    @abstractmethod
    def give_up(self, cloud: Cloud, job: Convergence[Any], holding: Holding) -> bool:
        """Take a resource out of an active reservation that has no server there; return whether it is out.

        False, and the reservation keeps it, if something is on its way there. Raises CloudError while it is not known;
        then `converge` puts the resource back, and this is tried again.
        """


# ------------------------------------------------------------ its end


class EndActing(Capability):
    """Reservations may ask for end actions."""

    @abstractmethod
    def before_end(self, cloud: Cloud, job: Convergence[Any]) -> Mapping[str, Any]:
        """Do what the reservation requested for the time before its end; return facts to store.

        Raises CloudTransientError until it is complete: it is called again while the warning is not done.
        """


class Outliving(Capability):
    """Servers of a reservation may outlive its lease: `converge` minds `job.kept_until`."""

    @abstractmethod
    def kept(self, cloud: Cloud, job: Convergence[Any]) -> frozenset[int]:
        """Return the allocation ids on whose resources servers live on after the end; the others are released.

        A resource on which a call of `converge` failed is kept too, because nobody would repeat the call. Called after
        `converge` while `job.kept_until` lies ahead. Raises CloudError.
        """


class HoldingServers(Sparing, Displacing, Retaining, Vacating, GivingUp, EndActing, Outliving):
    """A reservation has servers on hosts, with all that comes with them."""


class GivingBack(Outliving, Movable):
    """A resource may serve everybody after a lease, with its servers: `converge` minds `job.gives_back`.

    Before it leaves a resource with servers to everybody, it stores the allocations of all such resources (`GUESTS`).
    """


def endings_of(driver: Driver[Any]) -> tuple[OnEnd, ...]:
    """Return the ways in which reservations of a type may end; none if they have no servers that could live on."""
    if isinstance(driver, GivingBack):
        return (OnEnd.DELETE, OnEnd.RECYCLE, OnEnd.GIVE_BACK)
    return (OnEnd.DELETE, OnEnd.RECYCLE) if isinstance(driver, Outliving) else ()


def undeclared(driver: Driver[Any]) -> list[str]:
    """Return what a driver has of abilities that it does not derive from: nobody would call these methods."""
    return [
        f"{name} of {each.__name__}"
        for each in _below(Capability)
        for name in sorted(each.__abstractmethods__ & vars(each).keys())
        if hasattr(driver, name) and not isinstance(driver, each)
    ]


def _below(base: type[Capability]) -> Iterator[type[Capability]]:
    """Yield the abilities of this module that derive from one."""
    for each in base.__subclasses__():
        if each.__module__ == __name__:
            yield each
            yield from _below(each)
