"""What a reservation may ask for before its end; `resource_types/end_actions.py` does it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


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
CHAINS: tuple[tuple[EndAction, ...], ...] = (
    (),
    (EndAction.SNAPSHOT,),
    (EndAction.SUSPEND,),
    (EndAction.SHELVE,),
    (EndAction.SNAPSHOT, EndAction.SUSPEND),
    (EndAction.SNAPSHOT, EndAction.SHELVE),
)
"""All that can be asked for. None is suspended and shelved: a server leaves its host without its memory."""


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
    if chain not in CHAINS:
        message = "a server that is shelved has left its host and cannot be suspended there; leave one of the two out"
        raise ValueError(message)
    return as_text(chain)
