"""The driver of a resource type: it converges the cloud to the database (design §6).

The core does time, transactions, retries, events and repair. A driver compares what a reservation should have with what
the cloud has, and removes the difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from leasehold.cloud.ports import RESERVATION_TAG, CloudTransientError
from leasehold.conf.settings import CloudSettings
from leasehold.model.errors import MissingPluginError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.cloud.ports import Cloud
    from leasehold.model.caller import Caller
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.history import History
    from leasehold.resource_types.kind import Kind

R = TypeVar("R")
MARK = RESERVATION_TAG


def mark_of(reservation_id: str) -> str:
    """Return the name or tag that links a cloud object to its reservation (contract resources §3, §5)."""
    return f"{MARK}{reservation_id}"


class LearnedError(CloudTransientError):
    """Raised to store `facts` before converge continues; the core stores them like facts that converge returns."""

    def __init__(self, message: str, facts: Mapping[str, Any]) -> None:
        """`message` is for people, `facts` are for the database."""
        super().__init__(message)
        self.facts = facts


class Wanted(StrEnum):
    """The state that the cloud should have for a reservation."""

    PREPARED = "prepared"
    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Holding:
    """A resource that a reservation holds, with the number of slots and the id of the allocation."""

    resource: Resource
    slots: int
    allocation_id: int


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """One reservation to converge: its project, its holdings, and earlier holdings that are not released.

    `kind` is None if the type's plugin cannot be used. `former` are holdings that ended but are not released, e.g. of a
    host that an amendment gave up. `left` are holdings on vacated hosts: hosts that failed and are no longer used, but
    whose servers are not deleted before the reservation ends. `warned` is the time of the lease's warning if it is due
    and not done; None for a deleted lease. `wait_until` is until when an end may wait for images; None when that time
    is over.
    """

    project_id: str
    reservation: Reservation
    kind: Kind[R] | None
    holdings: tuple[Holding, ...] = ()
    former: tuple[Holding, ...] = ()
    left: tuple[Holding, ...] = ()
    settings: CloudSettings = field(default_factory=CloudSettings)
    warned: datetime | None = None
    wait_until: datetime | None = None

    @property
    def name(self) -> str:
        """The reservation's id, which names everything it has in the cloud (contract resources §2, §3)."""
        return self.reservation.id

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

    @abstractmethod
    def converge(self, cloud: Cloud, job: Job[R], wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match `wanted`; return facts for the view, e.g. `aggregate_id`.

        Raises CloudTransientError while something is in progress (servers that are being removed), and
        CloudPermanentError if the cloud refuses; both are retried, the latter with longer pauses.
        """

    def make_way(self, cloud: Cloud, job: Job[R], error: CloudTransientError, history: History) -> None:
        """Remove leftovers of ended leases that block this reservation; called when `converge` raised `error`.

        Only what certainly belonged to a lease that is over may be removed. Raises CloudError.
        """

    def started(self, cloud: Cloud, job: Job[R], history: History) -> None:
        """Clean up after a complete start; a CloudError is only logged."""

    def occupied(self, cloud: Cloud, job: Job[R]) -> frozenset[int]:  # noqa: ARG002 - a default
        """Return the allocation ids of `job.left` that cannot be released yet; called after `converge`."""
        return frozenset()

    def before_end(self, cloud: Cloud, job: Job[R]) -> None:
        """Do what the reservation requested for the time before its end.

        Raises CloudTransientError until it is complete: it is called again while the warning is not done.
        """
