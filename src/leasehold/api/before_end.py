"""The end actions of a reservation, as versions of the API write them: lists of them, and `suspend`, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.api.versions import CHAINS, ENDINGS
from leasehold.model.end_action import EndAction, words_of
from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.versions import Version


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
