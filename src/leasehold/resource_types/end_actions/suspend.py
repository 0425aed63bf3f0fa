"""Servers that outlive their lease are suspended when it ends: they stay on their host, and use no processor there.

A suspended server is ended like any other when its time is over, or stays on its host for good. Its owner may resume
it, and it is not suspended again (decision 0069).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError
from leasehold.resource_types.driver import LearnedError
from leasehold.resource_types.end_actions.action import Action
from leasehold.resource_types.end_actions.awaiting import NOTHING_AWAITED, Awaited, ServerAnswer, given_up, result_of
from leasehold.resource_types.end_actions.image_results import DONE, NOT_DONE, WAITING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.model.terms.ending import Ending
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.end_actions.awaiting import EndTurn, Result


class SuspendedAnswer(ServerAnswer):
    """What became of a server that was to be suspended: `done`, `waiting`, or `failed`, with a reason."""


log = logging.getLogger(__name__)

SUSPENDED_RESULTS = "suspended"
"""The fact with one result for each server that was to be suspended."""
UNSUSPENDED = "servers that it was to suspend"
NOT_RUNNING = "The server was not running."
NOT_SUSPENDED = "The server was in ERROR, in which the cloud suspends none."
LATE = "The server was not suspended in time."
"""The reasons name no hosts: owners read them."""

_STILL = frozenset({"SHUTOFF", "PAUSED", "SHELVED", "SHELVED_OFFLOADED"})
"""The statuses of servers that do not run, and that no cloud suspends."""


def awaiting_suspended(cloud: Cloud, job: Convergence[Any], turn: EndTurn) -> Awaited:
    """Suspend the servers of a reservation that live on after its end, and return what is waited for.

    Each one is suspended once: its result stays when its owner resumes it. Nothing is done where no server lives on,
    and none of a deleted lease. Raises LearnedError with the servers that were not suspended in time.
    """
    if job.removed or not job.reservation.ending.tail:
        return NOTHING_AWAITED
    known = {row["server_id"]: row for row in shown_suspended(job.reservation.cloud)}
    results = {ident: dict(row) for ident, row in known.items() if row["status"] != WAITING}
    for server in sorted(turn.servers, key=lambda each: each.id):
        if server.id not in results and server.status != "DELETING":
            results[server.id] = _next(cloud, job, server, turn)
    facts = {SUSPENDED_RESULTS: [results[ident] for ident in sorted(results)]} if results or known else {}
    lost = {ident for ident, row in results.items() if row["status"] == NOT_DONE}
    new = sorted(ident for ident in lost if known.get(ident, {}).get("status") != NOT_DONE)
    if new:
        text = "Reservation %s ends without the servers %s being suspended"
        log.warning(text, job.name, ", ".join(new))
        message = f"{len(new)} servers could not be suspended; the end goes on"
        raise LearnedError(message, {**facts, **given_up(job, UNSUSPENDED, len(lost))})
    waiting = frozenset(ident for ident, row in results.items() if row["status"] == WAITING)
    until = "" if turn.until is None else f", until {turn.until:%Y-%m-%d %H:%M} UTC at most"
    return Awaited(waiting, f"{len(waiting)} servers are being suspended{until}" if waiting else "", facts)


def shown_suspended(facts: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the results of a reservation, of its facts; none if no server was to be suspended."""
    return list(facts.get(SUSPENDED_RESULTS, ()))


def _next(cloud: Cloud, job: Convergence[Any], server: Server, turn: EndTurn) -> Result:
    """Request that the server is suspended, if that is next, and return its result."""
    if server.status == "SUSPENDED":
        return result_of(server, DONE)
    if server.status in _STILL:
        return result_of(server, DONE, NOT_RUNNING)
    if server.status == "ERROR":
        return result_of(server, NOT_DONE, NOT_SUSPENDED)
    if turn.until is None:
        return result_of(server, NOT_DONE, LATE)
    if server.id not in turn.busy and server.status != "SUSPENDING":
        try:
            cloud.servers.suspend(server.id)
        except CloudError as error:
            log.info("Reservation %s: server %s is not suspended yet: %s", job.name, server.id, error)
    return result_of(server, WAITING)


def _unfit(ending: Ending) -> str | None:
    if ending.tail:
        return None
    return (
        "Only servers that outlive the lease are suspended at its end: set grace_seconds, or on_end to 'recycle' or "
        "'give_back', or leave 'suspend' out of before_end."
    )


ACTION = Action(
    awaiting_suspended,
    SUSPENDED_RESULTS,
    shown_suspended,
    SuspendedAnswer,
    "from 1.3 on `suspend`, for servers that live on",
    living=True,
    since=(1, 3),
    unfit=_unfit,
)
