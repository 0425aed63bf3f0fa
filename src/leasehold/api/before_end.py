"""The actions of a reservation, as versions of the API write them: lists of them, and `suspend`, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.api.versions import CHAINS, ENDINGS
from leasehold.model.errors import InvalidInputError
from leasehold.model.terms.end_action import EndAction, words_of

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
    if version < CHAINS and (isinstance(asked, list) or (isinstance(asked, str) and _is_newer(asked))):
        message = "A list of actions needs microversion 1.3, and so does 'suspend': ask for that, or for 'snapshot'."
        raise InvalidInputError(message, field=f"{place}.before_end")
    if version < ENDINGS and asked == EndAction.SHELVE:
        message = "'shelve' needs microversion 1.2: ask for that, or for 'snapshot'."
        raise InvalidInputError(message, field=f"{place}.before_end")


def show_before_end(version: Version, text: str) -> str | list[str]:
    """Return what is done before the end: one word, or from 1.3 on a list of several."""
    words = words_of(text)
    return list(words) if version >= CHAINS and len(words) > 1 else text


def _is_newer(text: str) -> bool:
    words = words_of(text)
    return EndAction.SUSPEND in words or (len(words) > 1 and all(word in set(EndAction) for word in words))
