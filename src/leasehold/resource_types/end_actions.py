"""The end actions: one entry each, with what the warning does and what the end waits for.

The word of an action is in `model/end_action.py`. A lease that ends without what was asked for says so (UNSAVED).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudTransientError
from leasehold.model.end_action import DEFAULT, EndAction
from leasehold.resource_types.images import Awaited, awaiting_images, take_images
from leasehold.resource_types.shelving import awaiting_shelved, say_nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.conf.settings import CloudSettings
    from leasehold.resource_types.driver import Job


@dataclass(frozen=True, slots=True)
class Action:
    """What one end action does with the servers of a reservation.

    `warn` runs at the warning, and again until it raises no CloudTransientError; it returns facts to store. `awaited`
    runs at the end: it returns what the end still waits for, and may start what the warning could not. When it gives
    up, it raises LearnedError once, with the fact UNSAVED. With `closes`, no server can come to the reservation any
    more when `awaited` runs: what has left its hosts must not come back to them.
    """

    warn: Callable[[Cloud, Job[Any], Sequence[Server]], Mapping[str, Any]]
    awaited: Callable[[Cloud, Job[Any], Sequence[Server]], Awaited]
    closes: bool = False


ACTIONS: Mapping[EndAction, Action | None] = {
    EndAction.NOTHING: None,
    EndAction.SNAPSHOT: Action(take_images, awaiting_images),
    EndAction.SHELVE: Action(say_nothing, awaiting_shelved, closes=True),
}


def action_of(asked: str, settings: CloudSettings) -> Action | None:
    """Return the end action that a reservation asks for by this word; None if it asks for nothing.

    Raises CloudTransientError for a word that only a newer version knows: its manager does the rest.
    """
    word = settings.default_before_end if asked == DEFAULT else asked
    if word not in set(EndAction):
        message = f"this version does not know the end action {word!r}; a newer manager carries it out"
        raise CloudTransientError(message)
    return ACTIONS[EndAction(word)]
