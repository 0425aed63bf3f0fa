"""What the end of a reservation waits for, and how long: what all end actions have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from leasehold.resource_types.driver import UNSAVED, LearnedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.cloud.ports import Server
    from leasehold.resource_types.driver import Convergence


class ServerAnswer(TypedDict):
    """What became of a server: `done`, `waiting`, or `failed`, with a reason."""

    server_id: str
    server_name: str
    status: str
    reason: str | None


Result = dict[str, Any]
"""What became of one server: its id and name, `status` (`image_results.DONE` and the like), and `reason`."""


@dataclass(frozen=True, slots=True)
class EndTurn:
    """What an action finds at the end: the servers that are on hosts, and until when it may wait, None if no longer.

    `busy` are the ids of servers of which an earlier action is not done.
    """

    servers: Sequence[Server]
    until: datetime | None = None
    busy: frozenset[str] = frozenset()

    @property
    def limit(self) -> str:
        """The second half of a sentence that says how long the end waits; empty without a limit."""
        return "" if self.until is None else f"; the end waits until {self.until:%Y-%m-%d %H:%M} UTC at most"


@dataclass(frozen=True, slots=True)
class Awaited:
    """What an end waits for: the ids of servers that are kept for it, and a sentence about them, empty for nothing.

    `facts` are stored with the reservation, also when nothing is waited for any more. `deleted` are the only servers
    that may be deleted; None for all that are not kept.
    """

    servers: frozenset[str] = frozenset()
    message: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    deleted: frozenset[str] | None = None

    def spares(self, server: Server) -> bool:
        """Return whether the end must not delete the server now."""
        return server.id in self.servers or (self.deleted is not None and server.id not in self.deleted)

    def say(self) -> None:
        """Raise LearnedError, with the sentence and the facts, while there is something to wait for."""
        if self.message:
            raise LearnedError(self.message, self.facts)

    def joined(self, other: Awaited) -> Awaited:
        """Return what both wait for: what one of them keeps is kept."""
        both = [each.deleted for each in (self, other) if each.deleted is not None]
        deleted = frozenset.intersection(*both) if both else None
        message = ", and ".join(each for each in (self.message, other.message) if each)
        return Awaited(self.servers | other.servers, message, {**self.facts, **other.facts}, deleted)


NOTHING_AWAITED = Awaited()


def result_of(server: Server, status: str, reason: str | None = None) -> Result:
    """Return what became of a server."""
    return {"server_id": server.id, "server_name": server.name, "status": status, "reason": reason}


def given_up(job: Convergence[Any], noun: str, number: int) -> Mapping[str, Any]:
    """Return the fact that so many things were not complete when the reservation ended; others stay in it."""
    return {UNSAVED: {**job.reservation.cloud.get(UNSAVED, {}), noun: number}}
