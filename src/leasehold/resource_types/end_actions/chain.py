"""The end actions in their order, and those that a reservation asks for.

They are done server by server: the next one takes a server when those before are done with it, or their time is over. A
lease that ends without what was asked for says so (UNSAVED).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudTransientError
from leasehold.model.terms.end_action import CHAINS, DEFAULT, EndAction, words_of
from leasehold.resource_types.end_actions.awaiting import NOTHING_AWAITED, Awaited, EndTurn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.conf.settings import CloudSettings
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.end_actions.action import Action


ACTIONS: Mapping[EndAction, Action] = {
    word: import_module(f"leasehold.resource_types.end_actions.{word}").ACTION for word in EndAction if word
}


def asked_of(words: Collection[str]) -> Mapping[EndAction, Action]:
    """Return the actions that these words ask for, in their order; words of another version are left out."""
    return {word: action for word, action in ACTIONS.items() if word in words}


def shown_of(parts: Iterable[Reservation], *, warned: bool = False) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return what became of the servers of reservations, by the name of the results; only names with some.

    With `warned` only that of the actions that are done at the warning.
    """
    parts = list(parts)
    found = {
        action.results: [{"reservation_id": part.id, **each} for part in parts for each in action.shown(part.cloud)]
        for action in ACTIONS.values()
        if action.warn is not None or not warned
    }
    return {name: rows for name, rows in found.items() if rows}


@dataclass(frozen=True, slots=True)
class Chain:
    """The end actions of a reservation, in their order; false for none."""

    actions: Mapping[EndAction, Action]

    def __bool__(self) -> bool:
        return bool(self.actions)

    def warn(self, cloud: Cloud, job: Convergence[Any], servers: Sequence[Server]) -> Mapping[str, Any]:
        """Do what is done at the warning, and return facts to store; raises CloudTransientError until it is done."""
        facts: dict[str, Any] = {}
        for action in self.actions.values():
            if action.warn is not None:
                facts.update(action.warn(cloud, job, servers))
        return facts

    def awaited(self, cloud: Cloud, job: Convergence[Any], servers: Sequence[Server]) -> Awaited:
        """Do what is next for each server, and return what the end waits for; raises LearnedError.

        An action may take as long as it and those before it together.
        """
        found, span = NOTHING_AWAITED, timedelta()
        for word, action in self.actions.items():
            busy = found.servers if _until(job, action, span) else frozenset()
            span += job.settings.end_waits[word]
            found = found.joined(action.awaited(cloud, job, EndTurn(servers, _until(job, action, span), busy)))
        return found


def limits_of(job: Convergence[Any]) -> Iterator[datetime]:
    """Yield the moments at which the end of a reservation may give up something, whatever it asks for."""
    if job.waits is None:
        return
    for words in CHAINS:
        span = timedelta()
        for word in words:
            span += job.settings.end_waits[word]
            yield job.waits.end_of(span, living=ACTIONS[word].living)


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
    return Chain(asked_of(words))
