"""The event log: what happened to leases, resources and the like, in one order, with a position for each event.

A position counts up by one, so a reader sees that none is missing. The nonce of the transaction that gave the position
belongs to the id of an event: a database that was restored counts the same positions again, for other events, and a
cursor of before is then not taken for one of now (decision 0037).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

CURSOR = re.compile(r"(0|[1-9]\d{0,17})-([0-9a-f]{16})", re.ASCII)
NO_NONCE = "0" * 16


class LeaseNews(StrEnum):
    """The types of events of leases that Blazar does not have; contract lifecycle §9 has those that it has."""

    STARTING = "lease.starting"
    ENDING = "lease.ending"
    DELETING = "lease.deleting"
    RENAMED = "lease.renamed"
    PURPOSE = "lease.purpose"
    HEAL_POLICY = "lease.heal_policy"
    REMINDERS = "lease.reminders"
    ENDS_SOON = "lease.ends_soon"
    OWN_EVENT = "lease.own_event"
    WARNED = "lease.warning.done"
    WARNING_FAILED = "lease.warning.failed"
    HEALED = "lease.healed"
    HEAL_QUESTION = "lease.heal_question"
    AT_RISK = "lease.at_risk"
    SAFE = "lease.safe"
    SWAPPED = "lease.swapped"
    LENT = "lease.lent"
    RETURNED = "lease.returned"
    TAKEN_BACK = "lease.taken_back"
    MOVED = "lease.moved"
    RESCHEDULED = "lease.rescheduled"
    MAINTENANCE = "lease.maintenance"
    DEGRADED = "lease.degraded"
    RESTORED = "lease.restored"
    RELEASED = "lease.released"
    REPAIRED = "lease.repair"
    WAITING = "lease.waiting"
    GRANTED = "lease.granted"
    TIMED_OUT = "lease.timedout"
    NO_SHOW_WARNED = "lease.no_show_warned"
    NO_SHOW_RELEASED = "lease.no_show_released"
    CAPACITY_LATE = "lease.capacity_late"
    BUDGET_ENDS = "lease.budget_ends"
    BUDGET_ENDED = "lease.budget_ended"
    BUDGET_RESTORED = "lease.budget_restored"


ENDED_BY_OTHERS = frozenset({LeaseNews.TAKEN_BACK, LeaseNews.BUDGET_ENDED})
"""Events after which a lease is shorter, and its owner has not given up what it has lost."""


class ResourceNews(StrEnum):
    """The types of events of resources, which only administrators read."""

    ENROLLED = "resource.enrolled"
    CHANGED = "resource.changed"
    REMOVED = "resource.removed"
    HEALTH = "resource.health"
    DISABLED = "resource.disabled"
    ENABLED = "resource.enabled"
    DRAWN = "resource.drawn"
    DRAW_FAILED = "resource.draw_failed"
    GIVEN_BACK = "resource.given_back"


class AlarmNews(StrEnum):
    """The types of events of capacity alarms, which belong to the alarm's project."""

    LOW = "capacity.low"
    RESTORED = "capacity.restored"


class ServerNews(StrEnum):
    """The types of events of preemptible servers, which belong to the server's project."""

    ENDS = "server.ends_soon"
    STAYS = "server.stays"


class FillerNews(StrEnum):
    """The types of events of the hosts of fillers, which belong to the filler's project."""

    GUARANTEE = "filler.guarantee"
    """It is guaranteed for a shorter time than its project was told before."""
    LEAVES = "filler.leaves"
    ENDED = "filler.ended"


class BudgetNews(StrEnum):
    """The types of events of budgets, which belong to the budget's project."""

    NEARLY_USED = "budget.nearly_used"
    ENDS_SOON = "budget.ends_soon"


BUS_EVENTS = (
    *("lease.create", "lease.update", "lease.delete"),
    *(f"lease.event.{name}" for name in ("start_lease", "before_end_lease", "before_end_lease.stop", "end_lease")),
)
"""The types of events that Blazar has, and sends to the message bus (contract lifecycle §9)."""
EVENT_TYPES = frozenset({*BUS_EVENTS, *LeaseNews, *ResourceNews, *AlarmNews, *ServerNews, *FillerNews, *BudgetNews})
"""All types of events; docs/guides/how-you-are-told.md says when each comes."""
_OF_ALARMS = frozenset(AlarmNews)
_OF_SERVERS = frozenset(ServerNews)
_OF_FILLERS = frozenset(FillerNews)
_OF_BUDGETS = frozenset(BudgetNews)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the log: after the event with this position and nonce; position 0 is before the first event."""

    position: int
    nonce: str

    def __str__(self) -> str:
        """Return the form that clients get and send."""
        return f"{self.position}-{self.nonce}"


BEGINNING = Cursor(0, NO_NONCE)


def read_cursor(text: str) -> Cursor:
    """Return the cursor that a client sent; raises InvalidInputError for text that is none."""
    match = CURSOR.fullmatch(text)
    if match is None:
        message = "after has to be the id of an event, or `next` of an answer of this list, or `latest`."
        raise InvalidInputError(message, field="after")
    return Cursor(int(match[1]), match[2])


def read_event_id(text: str, field: str) -> Cursor:
    """Return the place of the event whose id a client sent; raises InvalidInputError, for the field, for no id."""
    match = CURSOR.fullmatch(text)
    if match is None:
        raise InvalidInputError(f"{field} has to be the id of an event, as GET /v1/events shows it.", field=field)
    return Cursor(int(match[1]), match[2])


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event, of a lease, a resource, an alarm, a server, a filler or a budget; `payload` is the state after it.

    `lease_state` is the rest of that state, for the message bus and the past of a lease (`db/lease_state.lease_of`).
    """

    cursor: Cursor
    type: str
    time: datetime
    project_id: str | None
    lease_id: str | None
    resource_type: str | None
    resource_id: str | None
    payload: Mapping[str, Any]
    lease_state: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def alarm_id(self) -> str | None:
        """The alarm that it is about; such an event has neither a lease nor a resource."""
        return str(self.payload["id"]) if self.type in _OF_ALARMS else None

    @property
    def server_id(self) -> str | None:
        """The server that it is about; such an event has neither a lease nor a resource."""
        return str(self.payload["server_id"]) if self.type in _OF_SERVERS else None

    @property
    def filler_id(self) -> str | None:
        """The filler that it is about; such an event has neither a lease nor a resource."""
        return str(self.payload["id"]) if self.type in _OF_FILLERS else None

    @property
    def budget_id(self) -> str | None:
        """The budget that it is about; such an event has neither a lease nor a resource."""
        return str(self.payload["id"]) if self.type in _OF_BUDGETS else None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events somebody reads: of a project, or with None of all projects and of resources; of one lease.

    `types` empty means all types of events. With a `user_id` only of the leases and alarms that this user made, and
    with `since` only what happened then or later.
    """

    project_id: str | None
    lease_id: str | None = None
    types: tuple[str, ...] = ()
    user_id: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in the order of their positions, and the cursor that continues after them."""

    events: Sequence[LogEvent]
    next: Cursor


class Unsequenced(Protocol):
    """A row of the outbox without a position: its key, its lease, and the lease's generation after the event."""

    @property
    def id(self) -> int: ...

    @property
    def lease_id(self) -> str: ...

    @property
    def generation(self) -> int | None: ...


Row = TypeVar("Row", bound=Unsequenced)


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Return rows, which are sorted by key, in the order in which they get positions.

    That is the order of the keys, but the events of one lease are in the order of its generations: on Galera every node
    gives keys of its own, and an event of a later transaction might have the smaller one. Rows of an older version have
    no generation, so a lease with such a row keeps the order of the keys.
    """
    of_lease: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        of_lease[row.lease_id].append(row)
    for lease_id, mine in of_lease.items():
        if lease_id and all(row.generation is not None for row in mine):
            mine.sort(key=lambda row: (row.generation, row.id))
    following = {lease_id: iter(mine) for lease_id, mine in of_lease.items()}
    return [next(following[row.lease_id]) for row in rows]
