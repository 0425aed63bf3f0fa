"""What belongs to one end action: what it does, who may ask for it, and how its results are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server
    from leasehold.model.terms.ending import Ending
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.end_actions.awaiting import Awaited, EndTurn


@dataclass(frozen=True, slots=True)
class Action:
    """An end action; its word, its wait and what it excludes are in `model/terms/end_action.py`.

    `awaited` runs at the end: it returns what the end still waits for, for the action's wait at most. When it gives up,
    it raises LearnedError once, with the fact UNSAVED. `warn` runs at the warning, and again until it raises no
    CloudTransientError; it returns facts to store. With `living` the time counts from the beginning of the end, and not
    from when no server lives on any more. When `awaited` runs, no server can come to the reservation any more.

    From the microversion `since` on it can be asked for, and reservations have `results`: one for each server, as
    `shown` reads them from the facts, in the shape `answer`. `text` says what it does, for the API's description.
    `unfit` returns why a reservation that ends so cannot ask for it; `needs_flavor` is why one of `{noun}` cannot,
    whose flavor ends with the lease.
    """

    awaited: Callable[[Cloud, Convergence[Any], EndTurn], Awaited]
    results: str
    shown: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]]
    answer: type[Any]
    text: str
    warn: Callable[[Cloud, Convergence[Any], Sequence[Server]], Mapping[str, Any]] | None = None
    living: bool = False
    since: tuple[int, int] = (1, 0)
    unfit: Callable[[Ending], str | None] = lambda _: None
    needs_flavor: str | None = None
