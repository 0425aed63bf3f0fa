"""The plugin contract: what a resource type tells the core (design §6).

The core owns time, conflicts, transactions, retries, events and notifications; a plugin reads requests, picks
resources from a snapshot, and makes the cloud match what the database wants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from leasehold.cloud.ports import RESERVATION_TAG, CloudTransientError
from leasehold.conf.settings import CloudSettings
from leasehold.model.budget import nothing_to_check

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from pydantic import BaseModel

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.cloud.ports import Cloud
    from leasehold.model.allocation import Pick
    from leasehold.model.caller import Caller
    from leasehold.model.properties import Expression
    from leasehold.model.refusal import Refusal
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.model.windows import Window

MARK = RESERVATION_TAG


def mark_of(reservation_id: str) -> str:
    """Return the name or tag that ties a thing in the cloud to its reservation (contract resources §3, §5)."""
    return f"{MARK}{reservation_id}"


Request = dict[str, Any]
"""What was asked, as the typed JSON that the database keeps; every type has its own keys."""


class LearnedError(CloudTransientError):
    """Something was learned that has to be stored before converge goes on; `facts` are kept as those returned."""

    def __init__(self, message: str, facts: Mapping[str, Any]) -> None:
        """Say what was learned, to people and to the database."""
        super().__init__(message)
        self.facts = facts


class Wanted(StrEnum):
    """What the database wants the cloud to hold for a reservation."""

    PREPARED = "prepared"
    ACTIVE = "active"
    ENDED = "ended"


class Explain(IntEnum):
    """How much a refusal has to say: that it is one; the amounts that there are; the nearest window as well."""

    NOTHING = 0
    AMOUNTS = 1
    WINDOW = 2


@dataclass(frozen=True, slots=True)
class Search:
    """Where and when to look for resources.

    `snapshot` no longer holds this lease's own promises; `held` are those it has now and should keep where it can.
    `firm` means they are in use: none may be given up. `before` is the request that an amendment replaces.
    `window` is what lies ahead of the asked window, whose whole length is `length`; `margin` is the cleaning time to
    keep free on both sides. `explain` says how much a refusal has to say; its nearest window need fit this reservation
    alone. `check` is called between the steps of a search, and raises TakesTooLongError. `hidden` are private
    properties that the caller may not ask about.
    """

    snapshot: Snapshot
    window: Window
    length: timedelta
    held: tuple[Pick, ...] = ()
    firm: bool = False
    before: Request | None = None
    margin: timedelta = timedelta(0)
    explain: Explain = Explain.WINDOW
    check: Callable[[], None] = nothing_to_check
    hidden: frozenset[str] = frozenset()

    @property
    def padded(self) -> Window:
        """The window with the cleaning time on both sides."""
        return self.window.widened(self.margin)


@dataclass(frozen=True, slots=True)
class Holding:
    """A resource that a reservation holds, how many slots of it, and by which promise."""

    resource: Resource
    slots: int
    allocation_id: int


@dataclass(frozen=True, slots=True)
class Job:
    """One reservation for converge: whose it is, what it holds now, and what it held and has not given back.

    `former` are holdings that ended but are not released, e.g. of a host that an amendment gave up. `left` are those on
    hosts that failed: they are no longer used, and servers on them are not deleted before the reservation ends.
    `warned` is the time of the lease's warning when it has come and is not carried out completely; None for a lease
    that was deleted. `wait_until` is how long an end may wait for what else has to be saved; None when it has waited
    that long.
    """

    project_id: str
    reservation: Reservation
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
    def all_holdings(self) -> tuple[Holding, ...]:
        """All that the reservation holds, used or not."""
        return (*self.holdings, *self.former, *self.left)


class ResourceType(Protocol):
    """One kind of thing that can be leased."""

    @property
    def name(self) -> str:
        """The v1 name, e.g. `physical:host`."""

    @property
    def pool(self) -> str:
        """The pool that it takes from; hosts, instances and flavors share one."""

    @property
    def schema(self) -> type[BaseModel]:
        """The shape of a request, for the OpenAPI document."""

    def parse(self, raw: Mapping[str, Any]) -> Request:
        """Read a request; raises InvalidInputError with the field's name. Unknown keys are ignored."""

    def resolve(self, cloud: Cloud, caller: Caller, request: Request) -> Request:
        """Complete a request with what only the cloud knows; runs before the decision, outside its transaction."""

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> Request:
        """Read changes to a reservation and return the new request; raises when this part may not change now."""

    def conditions(self, request: Request) -> Collection[Expression]:
        """Return what `allocate` will ask of `Snapshot.matching`: that is evaluated before the pool is locked."""

    def allocate(self, request: Request, search: Search) -> Sequence[Pick] | Refusal:
        """Choose resources: a pure function. Whatever it returns is free throughout the padded window."""

    def exactly(self, request: Request, amount: int) -> Request:
        """Return the request that asks for `amount`, neither more nor less: how a failed resource is replaced."""

    def converge(self, cloud: Cloud, job: Job, wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match, any number of times; returns facts for the view, e.g. `aggregate_id`.

        Raises CloudTransientError while something is still on its way (servers that are being removed), and
        CloudPermanentError where the cloud refuses; both are tried again, the latter with longer pauses.
        """

    def occupied(self, cloud: Cloud, job: Job) -> frozenset[int]:
        """Return the allocation ids of `job.left` whose resources cannot be given back yet; asked after `converge`."""

    def before_end(self, cloud: Cloud, job: Job) -> None:
        """Do what the reservation asked for shortly before its end.

        Raises CloudTransientError until it is done completely: it is called again as long as the warning stands.
        """

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return this type's own fields of the v1 answer (contract http-api §5.1)."""
