"""Servers are shelved when their lease ends, and leave its hosts: their owner can unshelve them elsewhere.

They are not shelved before the end, because their owner works with them until then, nor while they live on after it. A
server that the cloud keeps as an image is never deleted, however long it takes to leave its host (decision 0065).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError
from leasehold.resource_types.driver import LearnedError
from leasehold.resource_types.end_actions.action import Action
from leasehold.resource_types.end_actions.awaiting import NOTHING_AWAITED, Awaited, ServerAnswer, given_up, result_of
from leasehold.resource_types.end_actions.image_results import DONE, NOT_DONE, NOT_HANDED_OVER, WAITING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.model.terms.ending import Ending
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.end_actions.awaiting import EndTurn, Result


class ShelvedAnswer(ServerAnswer):
    """What became of a server that was to be shelved: `done`, `waiting`, or `failed`, with a reason."""


log = logging.getLogger(__name__)

SHELVED_RESULTS = "shelved"
"""The fact with one result for each server that was to be shelved."""
UNSHELVED = "servers that it was to shelve"
NOT_SHELVED = "The server was in ERROR, in which the cloud shelves none."
LATE = "The server was not shelved in time."
"""The reasons name no hosts: owners read them."""

_KEPT = frozenset({"SHELVED", "SHELVED_OFFLOADED"})
"""The statuses of servers that the cloud has kept; the second is on its host for a moment."""
_BROKEN = "ERROR"
"""The status of servers that no cloud shelves, however long one waits."""


def awaiting_shelved(cloud: Cloud, job: Convergence[Any], turn: EndTurn) -> Awaited:
    """Shelve the servers on the hosts of a reservation that ends, and return what the end still waits for.

    Nothing is done while servers live on. Of a deleted lease only what is being shelved is waited for. Raises
    LearnedError with the servers that were not shelved in time, before the end deletes them.
    """
    if job.kept_until is not None:
        return NOTHING_AWAITED
    there = sorted((each for each in turn.servers if each.status != "DELETING"), key=lambda each: each.id)
    before = {row["server_id"] for row in shown_shelved(job.reservation.cloud) if row["status"] == NOT_DONE}
    staying = [each for each in there if each.status in _KEPT or (each.id not in before and _may_wait(job, each, turn))]
    for server in staying:
        if server.id not in turn.busy:
            _urge(cloud, job, server)
    lost = [each for each in there if each not in staying]
    results = _results_of_gone(cloud, job, turn)
    results |= {each.id: result_of(each, WAITING) for each in staying}
    waiting = sum(row["status"] == WAITING for row in results.values())
    if not job.removed:
        whys = {each.id: NOT_SHELVED if each.status == _BROKEN else LATE for each in lost}
        results |= {each.id: result_of(each, NOT_DONE, whys[each.id]) for each in lost}
        _say_lost(job, results, [each.id for each in lost if each.id not in before])
    deleted = frozenset(each.id for each in lost)
    return Awaited(frozenset(each.id for each in staying), _said(waiting, turn), _facts(job, results), deleted)


def shown_shelved(facts: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the results of a reservation, of its facts; none if no server was to be shelved."""
    return list(facts.get(SHELVED_RESULTS, ()))


def _may_wait(job: Convergence[Any], server: Server, turn: EndTurn) -> bool:
    """Return whether there is time to shelve the server: of a deleted lease only what is being shelved has any."""
    if turn.until is None:
        return False
    return server.status == "SHELVING" or (not job.removed and server.status != _BROKEN)


def _say_lost(job: Convergence[Any], results: Mapping[str, Result], new: Sequence[str]) -> None:
    """Raise LearnedError if servers are given up now: their results are stored before they are deleted."""
    if not new:
        return
    text = "Reservation %s ends without the servers %s: they could not be shelved in time"
    log.warning(text, job.name, ", ".join(new))
    number = sum(row["status"] == NOT_DONE for row in results.values())
    message = f"{len(new)} servers could not be shelved in time; the end goes on without them"
    raise LearnedError(message, {**_facts(job, results), **given_up(job, UNSHELVED, number)})


def _facts(job: Convergence[Any], results: Mapping[str, Result]) -> dict[str, Any]:
    """Return the results as facts; none for a reservation that never had any."""
    if not results and SHELVED_RESULTS not in job.reservation.cloud:
        return {}
    return {SHELVED_RESULTS: [results[ident] for ident in sorted(results)]}


def _urge(cloud: Cloud, job: Convergence[Any], server: Server) -> None:
    """Request what the server needs next to leave its host. A refusal is logged: it may be busy, or gone by now."""
    verbs = {"SHELVING": None, "SHELVED_OFFLOADED": None, "SHELVED": cloud.servers.offload}
    verb = verbs.get(server.status, cloud.servers.shelve)
    if verb is None:
        return
    try:
        verb(server.id)
    except CloudError as error:
        log.info("Reservation %s: server %s does not leave its host yet: %s", job.name, server.id, error)


def _results_of_gone(cloud: Cloud, job: Convergence[Any], turn: EndTurn) -> dict[str, Result]:
    """Return the results of servers that are on none of the hosts any more; of those that exist, by their id.

    The image of a server that has left its host is handed over to its project. While that is refused, and there is
    time, the server's result is waiting.
    """
    known = {row["server_id"]: row for row in shown_shelved(job.reservation.cloud)}
    there = {each.id for each in turn.servers}
    results = {ident: dict(row) for ident, row in known.items() if ident not in there and row["status"] != WAITING}
    left = known.keys() - results.keys() - there
    for server in cloud.servers.with_ids(left) if left else ():
        if server.status != "DELETING":
            results[server.id] = _handed_over(cloud, job, server, turn)
    return results


def _handed_over(cloud: Cloud, job: Convergence[Any], server: Server, turn: EndTurn) -> Result:
    try:
        for image in cloud.images.of_shelved(server.id):
            cloud.images.hand_over(image.id, server.project_id)
    except CloudError as error:
        log.info("Reservation %s: the image of server %s is not handed over: %s", job.name, server.id, error)
        late = turn.until is None
        return result_of(server, DONE, NOT_HANDED_OVER) if late else result_of(server, WAITING)
    return result_of(server, DONE)


def _said(waiting: int, turn: EndTurn) -> str:
    """Return a sentence about the servers that the end waits for; empty without any."""
    return f"{waiting} servers are being shelved{turn.limit}" if waiting else ""


def _unfit(ending: Ending) -> str | None:
    if not ending.gives_back:
        return None
    return (
        "With on_end 'give_back' servers stay on their hosts and are not shelved: leave on_end out, or ask for another "
        "before_end."
    )


ACTION = Action(
    awaiting_shelved,
    SHELVED_RESULTS,
    shown_shelved,
    ShelvedAnswer,
    "from 1.2 on `shelve`, for reservations of hosts only",
    since=(1, 2),
    unfit=_unfit,
    needs_flavor="A server of a reservation of {noun} could not be unshelved after the lease, because its flavor ends "
    "with the lease: ask for 'snapshot', or reserve hosts.",
)
