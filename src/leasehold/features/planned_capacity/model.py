"""Changes of capacity at a date: hosts that come, hosts that go, and hosts that are held back (feature G5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.errors import InUseError
from leasehold.model.windows import OPEN_END, Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.leasing.maintenance.model import OnConflict
    from leasehold.model.lease import Lease
    from leasehold.model.resource import Resource


class ChangeKind(StrEnum):
    """What changes at the date."""

    INCREASE = "increase"
    DECREASE = "decrease"
    RESERVE = "reserve"


class State(StrEnum):
    """How far a change is."""

    PLANNED = "planned"
    ACTIVE = "active"
    OVERDUE = "overdue"
    """A host of an increase is not there, although its date is over."""
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Change:
    """A change over [`starts_at`, `ends_at`), `ends_at` None: for ever.

    The hosts of an increase are expected at `starts_at`, which was `first_at` once and was put off `delays` times;
    leases are promised on them before that if it says `promise`. A reserve holds `amount` hosts back, or `percent` of
    those that match `resource_properties`.
    """

    id: str
    kind: ChangeKind
    name: str
    user_id: str
    project_id: str
    starts_at: datetime
    first_at: datetime
    created_at: datetime
    ends_at: datetime | None = None
    delays: int = 0
    promise: bool = False
    amount: int | None = None
    percent: int | None = None
    resource_properties: str = ""
    updated_at: datetime | None = None

    @property
    def end(self) -> datetime:
        """The end of the change, OPEN_END if it has none."""
        return self.ends_at or OPEN_END

    def window_after(self, now: datetime) -> Window:
        """Return the part of the change that lies ahead; empty if it is over."""
        return Window(min(max(self.starts_at, now), self.end), self.end)


@dataclass(frozen=True, slots=True)
class Hold:
    """A lease of the operator's that keeps hosts from everybody, for a change; of one host if it has a number."""

    lease_id: str
    change_id: str
    resource_number: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedHost:
    """A host of an increase; `failure` says why it could not be enrolled although it was due."""

    resource: Resource
    failure: str | None = None

    @property
    def arrived(self) -> bool:
        """Whether the cloud has it."""
        return self.resource.expected_at is None


@dataclass(frozen=True, slots=True)
class ChangeNow:
    """A change with its hosts and its holds, and the leases that are promised on hosts that are not there yet."""

    change: Change
    state: State
    hosts: Sequence[PlannedHost] = ()
    holds: Sequence[Lease] = ()
    promised: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class IncreaseDraft:
    """Hosts to come, by the names that they will have, all of one size; `size` maps resource classes to amounts."""

    name: str
    start: datetime
    end: datetime | None
    promise: bool
    hosts: Sequence[str]
    size: Mapping[str, int]
    availability_zone: str = ""
    traits: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DecreaseDraft:
    """Hosts to go, by their ids, for ever if `end` is None."""

    name: str
    start: datetime
    end: datetime | None
    hosts: Sequence[str]
    on_conflict: OnConflict


@dataclass(frozen=True, slots=True)
class ReserveDraft:
    """Hosts to hold back: `amount` of them, or `percent`, of those that match the expression."""

    name: str
    start: datetime
    end: datetime | None
    resource_properties: str
    amount: int | None
    percent: int | None


@dataclass(frozen=True, slots=True)
class Amendment:
    """What becomes another of a change; None stays as it is."""

    start: datetime | None = None
    promise: bool | None = None
    amount: int | None = None
    percent: int | None = None


class CapacityConflictError(InUseError):
    """Leases are promised on hosts that would not come, and the request does not say that they may lose them."""

    code = "leasehold.capacity.conflict"
