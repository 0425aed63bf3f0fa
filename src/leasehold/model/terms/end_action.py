"""What a reservation may ask for before its end; the module of each word in `resource_types/end_actions/` does it."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class EndAction(StrEnum):
    """The actions by the words that requests and `[physical:host] before_end` use (contract lifecycle §2.4).

    They are done in this order.
    """

    NOTHING = ""
    SNAPSHOT = "snapshot"
    SUSPEND = "suspend"
    """Where servers outlive the lease, from microversion 1.3 on."""
    SHELVE = "shelve"
    """For reservations of hosts only, from microversion 1.2 on."""


DEFAULT = "default"
"""In a request: what the operator has configured. The configuration itself cannot say it, so it is no member."""
EMAIL = "email"
"""In a request: nothing is done with the servers, and the owner gets an e-mail; it is never stored."""

_SEPARATOR = ","


class Wait(NamedTuple):
    """How long the end of a lease waits for an action by default, and what the option `..._wait_seconds` says."""

    usual: timedelta
    text: str


WAITS: Mapping[EndAction, Wait] = {
    EndAction.SNAPSHOT: Wait(
        timedelta(hours=1), "Seconds that the end of a lease waits for incomplete snapshots; 0 means no wait."
    ),
    EndAction.SUSPEND: Wait(
        timedelta(minutes=10),
        "Seconds that servers which outlive their lease may take to be suspended at its end, and after the wait for "
        "their snapshots; 0 means that none is suspended.",
    ),
    EndAction.SHELVE: Wait(
        timedelta(hours=1),
        "Seconds that the end of a lease waits for servers to be shelved, after the wait for their snapshots; 0 means "
        "that none is shelved.",
    ),
}


def usual_waits() -> dict[str, timedelta]:
    """Return by action how long the end of a lease waits for it if nothing is configured."""
    return {word: each.usual for word, each in WAITS.items()}


EXCLUDED: Mapping[frozenset[EndAction], str] = {
    frozenset({EndAction.SUSPEND, EndAction.SHELVE}): "a server that is shelved has left its host and cannot be "
    "suspended there; leave one of the two out"
}
"""Which actions cannot be asked for together, with why."""


def excluded(words: Collection[EndAction]) -> str | None:
    """Return why these actions cannot be asked for together; None if they can."""
    return next((why for pair, why in EXCLUDED.items() if pair <= set(words)), None)


CHAINS: tuple[tuple[EndAction, ...], ...] = tuple(
    chain for many in range(len(WAITS) + 1) for chain in combinations(WAITS, many) if excluded(chain) is None
)
"""All that can be asked for."""


def as_text(actions: Sequence[str]) -> str:
    """Return actions as they are stored and configured; one is its word, none is empty."""
    return _SEPARATOR.join(actions)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words that `as_text` has joined: actions, DEFAULT, or words of another version."""
    return tuple(text.split(_SEPARATOR)) if text else ()


def read_chain(asked: object, words: Collection[str] = ()) -> str:
    """Return as text what a request asks for: one word, such a text, or a list of actions in any order.

    `words` can be asked for alone. Raises ValueError with what it has to be.
    """
    if isinstance(asked, str) and (asked in words or asked in map(as_text, CHAINS)):
        return asked
    known = [each.value for each in EndAction if each]
    if not isinstance(asked, list) or not all(isinstance(each, str) and each in known for each in asked):
        alone = " or ".join(map(repr, ("", *known, *words)))
        message = f"it has to be {alone}, or a list of {', '.join(map(repr, known))}"
        raise ValueError(message)
    if len(set(asked)) < len(asked):
        message = "it names an action twice; name each once"
        raise ValueError(message)
    chain = tuple(each for each in EndAction if each.value in asked)
    if why := excluded(chain):
        raise ValueError(why)
    return as_text(chain)
