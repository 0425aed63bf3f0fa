"""The end actions: one entry each, with what the warning does and what the end waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.end_action import DEFAULT, EndAction
from leasehold.resource_types.host.images import say_waiting, spared, take_images

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from leasehold.cloud.ports import Cloud
    from leasehold.resource_types.driver import Job
    from leasehold.resource_types.host.kind import HostRequest


@dataclass(frozen=True, slots=True)
class Action:
    """What one end action does with the servers on the reservation's hosts.

    `warn` runs at the warning, and again until it raises no CloudTransientError. `spared` runs at the end: it returns
    the servers that the end still waits for, and may start what the warning could not. `say_waiting` raises
    CloudTransientError with a sentence about such servers.
    """

    warn: Callable[[Cloud, Job[HostRequest], Iterable[str]], None]
    spared: Callable[[Cloud, Job[HostRequest], Iterable[str]], frozenset[str]]
    say_waiting: Callable[[Job[HostRequest], Collection[str]], None]


ACTIONS: Mapping[EndAction, Action] = {EndAction.SNAPSHOT: Action(take_images, spared, say_waiting)}


def action_of(job: Job[HostRequest]) -> Action | None:
    """Return the end action that the reservation asks for; None if it asks for nothing."""
    asked = job.request.before_end
    return ACTIONS.get(EndAction(job.settings.default_before_end if asked == DEFAULT else asked))
