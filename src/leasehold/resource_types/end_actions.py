"""The end actions: one entry each, with what the warning does and what the end waits for.

The word of an action is in `model/terms/end_action.py`. A reservation asks for some of them, and they are done in the
order of EndAction, server by server: the next one takes a server when those before are done with it, or their time is
over. A lease that ends without what was asked for says so (UNSAVED).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudTransientError
from leasehold.model.terms.end_action import CHAINS, DEFAULT, EndAction, words_of
from leasehold.resource_types.awaiting import NOTHING_AWAITED, Awaited, EndTurn
from leasehold.resource_types.images import awaiting_images, take_images
from leasehold.resource_types.shelving import awaiting_shelved
from leasehold.resource_types.suspending import awaiting_suspended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.conf.settings import CloudSettings
    from leasehold.resource_types.driver import Convergence


@dataclass(frozen=True, slots=True)
class Action:
    """What one end action does with the servers of a reservation.

    `awaited` runs at the end: it returns what the end still waits for, for `wait` of the settings at most. When it
    gives up, it raises LearnedError once, with the fact UNSAVED. `warn` runs at the warning, and again until it raises
    no CloudTransientError; it returns facts to store. With `living` the time counts from the beginning of the end, and
    not from when no server lives on any more. When `awaited` runs, no server can come to the reservation any more.
    """

    awaited: Callable[[Cloud, Convergence[Any], EndTurn], Awaited]
    wait: Callable[[CloudSettings], timedelta]
    warn: Callable[[Cloud, Convergence[Any], Sequence[Server]], Mapping[str, Any]] | None = None
    living: bool = False


ACTIONS: Mapping[EndAction, Action] = {
    EndAction.SNAPSHOT: Action(awaiting_images, attrgetter("snapshot_wait"), warn=take_images),
    EndAction.SUSPEND: Action(awaiting_suspended, attrgetter("suspend_wait"), living=True),
    EndAction.SHELVE: Action(awaiting_shelved, attrgetter("shelve_wait")),
}


@dataclass(frozen=True, slots=True)
class Chain:
    """The end actions of a reservation, in their order; false for none."""

    actions: tuple[Action, ...]

    def __bool__(self) -> bool:
        return bool(self.actions)

    def warn(self, cloud: Cloud, job: Convergence[Any], servers: Sequence[Server]) -> Mapping[str, Any]:
        """Do what is done at the warning, and return facts to store; raises CloudTransientError until it is done."""
        facts: dict[str, Any] = {}
        for action in self.actions:
            if action.warn is not None:
                facts.update(action.warn(cloud, job, servers))
        return facts

    def awaited(self, cloud: Cloud, job: Convergence[Any], servers: Sequence[Server]) -> Awaited:
        """Do what is next for each server, and return what the end waits for; raises LearnedError.

        An action may take as long as it and those before it together.
        """
        found, span = NOTHING_AWAITED, timedelta()
        for action in self.actions:
            busy = found.servers if _until(job, action, span) else frozenset()
            span += action.wait(job.settings)
            found = found.joined(action.awaited(cloud, job, EndTurn(servers, _until(job, action, span), busy)))
        return found


def limits_of(job: Convergence[Any]) -> Iterator[datetime]:
    """Yield the moments at which the end of a reservation may give up something, whatever it asks for."""
    if job.waits is None:
        return
    for words in CHAINS:
        span = timedelta()
        for action in (ACTIONS[word] for word in words):
            span += action.wait(job.settings)
            yield job.waits.end_of(span, living=action.living)


def _until(job: Convergence[Any], action: Action, span: timedelta) -> datetime | None:
    """Return until when an action may take with this time; None if no longer. One with `living` ends with the lives."""
    until = None if job.waits is None else job.waits.until(span, living=action.living)
    if until is None or not action.living:
        return until
    return None if job.kept_until is None else min(until, job.kept_until)


def chain_of(asked: str, settings: CloudSettings) -> Chain:
    """Return the end actions that a reservation asks for by this text.

    Raises CloudTransientError for a word that only a newer version knows: its manager does the rest.
    """
    words = words_of(settings.default_before_end if asked == DEFAULT else asked)
    unknown = [word for word in words if word not in set(EndAction)]
    if unknown:
        message = f"this version does not know the end action {unknown[0]!r}; a newer manager carries it out"
        raise CloudTransientError(message)
    return Chain(tuple(action for word, action in ACTIONS.items() if word in words))
