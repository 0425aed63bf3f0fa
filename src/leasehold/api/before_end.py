"""The actions of a reservation, as versions of the API write them: lists of them, and `suspend`, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.api.versions import CHAINS
from leasehold.model.errors import InvalidInputError
from leasehold.model.terms.end_action import words_of
from leasehold.resource_types.end_actions.chain import ACTIONS, asked_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from leasehold.api.versions import Version

ON_START = "on_start"
"""A key of Blazar's forks. Nothing is done at the start of a lease, so nothing reads it."""
_ASKS_NOTHING = {ON_START: ("", "default"), "before_end": ("", "default"), "on_end": ("", "default", "delete")}
"""The words that ask for no action, by key."""


def check_actions(reservation: Mapping[str, Any], unread: Collection[str], place: str) -> None:
    """Raise InvalidInputError for a word that asks for an action in a key that nothing reads at this version."""
    for key, words in _ASKS_NOTHING.items():
        asked = reservation.get(key)
        if key in unread and asked and asked not in words:
            found = f"{place}.{key}"
            when = "" if key == ON_START else " at this microversion, but from 1.2 on"
            message = f"The value of {found} asks for an action that is not carried out{when}: leave {key} out."
            raise InvalidInputError(message, field=found)


def check_before_end(version: Version, reservation: Mapping[str, Any], place: str) -> None:
    """Raise InvalidInputError for end actions that this version does not have; `place` is the reservation's path."""
    asked = reservation.get("before_end")
    words = words_of(asked) if isinstance(asked, str) else ()
    late = [(word, each.since) for word, each in asked_of(words).items() if version < each.since]
    several = isinstance(asked, list) or (len(words) > 1 and all(word in ACTIONS for word in words))
    if version < CHAINS and (several or any(since == CHAINS for _, since in late)):
        new = " and ".join(f"'{word}'" for word, each in ACTIONS.items() if each.since == CHAINS)
        message = f"A list of actions needs microversion {CHAINS}, and so does {new}: ask for that, or for 'snapshot'."
        raise InvalidInputError(message, field=f"{place}.before_end")
    if late and len(words) == 1:
        word, (major, minor) = late[0]
        message = f"'{word}' needs microversion {major}.{minor}: ask for that, or for 'snapshot'."
        raise InvalidInputError(message, field=f"{place}.before_end")


def show_before_end(version: Version, text: str) -> str | list[str]:
    """Return what is done before the end: one word, or from 1.3 on a list of several."""
    words = words_of(text)
    return list(words) if version >= CHAINS and len(words) > 1 else text
