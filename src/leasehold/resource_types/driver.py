"""The half of a resource type that acts: it makes a cloud match the database (design §6).

The core owns time, transactions, retries, events and repair. A driver compares what a reservation should have with
what the cloud has, and closes the difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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
    """Return the name or tag that ties a thing in the cloud to its reservation (contract resources §3, §5)."""
    return f"{MARK}{reservation_id}"


class LearnedError(CloudTransientError):
    """`facts` have to be stored before converge goes on; the core stores them as it stores those that are returned."""

    def __init__(self, message: str, facts: Mapping[str, Any]) -> None:
        """Take the message for people and the facts for the database."""
        super().__init__(message)
        self.facts = facts


class Wanted(StrEnum):
    """What the cloud should hold for a reservation."""

    PREPARED = "prepared"
    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Holding:
    """A resource that a reservation holds, how many slots of it, and by which allocation."""

    resource: Resource
    slots: int
    allocation_id: int


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """One reservation for converge: whose it is, what it holds now, and what it held and has not given back.

    `kind` is None where the type's plugin cannot be used. `former` are holdings that ended but are not released, e.g.
    of a host that an amendment gave up. `left` are those on hosts that failed: they are no longer used, and servers on
    them are not deleted before the reservation ends. `warned` is the time of the lease's warning when it has come and
    is not carried out completely; None for a lease that was deleted. `wait_until` is how long an end may wait for what
    else has to be saved; None when it has waited that long.
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
        """All that the reservation holds, used or not."""
        return (*self.holdings, *self.former, *self.left)


class Driver(ABC, Generic[R]):
    """What a resource type does in a cloud. Every method may be called again at any time.

    The defaults are for a type that needs nothing from the cloud before a decision, and nothing done before its end.
    """

    def resolve(self, cloud: Cloud, caller: Caller, request: R) -> R:  # noqa: ARG002 - a default
        """Complete a request with what only the cloud knows; runs before the decision, outside its transaction."""
        return request

    def wants_caller(self, cloud: Cloud, reservation: Reservation, request: R) -> bool:  # noqa: ARG002 - a default
        """Say whether the reservation lacks, or has wrongly, what only its owner may make; asked after a decision."""
        return False

    def act_for_caller(
        self,
        cloud: Cloud,  # noqa: ARG002 - a default
        reservation: Reservation,  # noqa: ARG002 - a default
        request: R,  # noqa: ARG002 - a default
        token: str | None,  # noqa: ARG002 - a default
    ) -> Mapping[str, Any]:
        """Make it with the caller's token, and return the facts to store; without a token return those of nothing.

        Raises CloudError.
        """
        return {}

    def discard(self, cloud: Cloud, facts: Mapping[str, Any]) -> None:
        """Remove what `act_for_caller` made and is not needed; a failure is logged, not raised."""

    @abstractmethod
    def converge(self, cloud: Cloud, job: Job[R], wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match, any number of times; returns facts for the view, e.g. `aggregate_id`.

        Raises CloudTransientError while something is still on its way (servers that are being removed), and
        CloudPermanentError where the cloud refuses; both are tried again, the latter with longer pauses.
        """

    def make_way(self, cloud: Cloud, job: Job[R], error: CloudTransientError, history: History) -> None:
        """Remove what a lease that is over has left in this reservation's way; called when `converge` raised `error`.

        Only what certainly belonged to such a lease may be removed. Raises CloudError.
        """

    def started(self, cloud: Cloud, job: Job[R], history: History) -> None:
        """Do what is useful once a start is complete; a failure, CloudError, delays nothing."""

    def occupied(self, cloud: Cloud, job: Job[R]) -> frozenset[int]:  # noqa: ARG002 - a default
        """Return the allocation ids of `job.left` whose resources cannot be given back yet; asked after `converge`."""
        return frozenset()

    def before_end(self, cloud: Cloud, job: Job[R]) -> None:
        """Do what the reservation asked for shortly before its end.

        Raises CloudTransientError until it is done completely: it is called again as long as the warning stands.
        """
