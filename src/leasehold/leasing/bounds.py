"""Bounds on one request, checked before the cloud is called or a lock is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


MOST_CONDITIONS: Final = 1024
"""The most values in the property expressions of one request, plus addresses that it names."""
MOST_TEXT: Final = 64 * 1024
"""The most characters of all texts in the reservations of one request: mainly property expressions."""


def check_texts(reservations: Iterable[Mapping[str, Any]], place: Callable[[int], str]) -> None:
    """Raise InvalidInputError if the texts of a request, such as property expressions, are longer than MOST_TEXT.

    `place` returns the path of a reservation in the request.
    """
    length = 0
    for position, raw in enumerate(reservations):
        for field, text in raw.items():
            length += len(text) if isinstance(text, str) else 0
            if length > MOST_TEXT:
                message = (
                    f"The property expressions and other texts of the request have more than {MOST_TEXT} characters. "
                    "Ask for less, or for several leases."
                )
                raise InvalidInputError(message, field=field).under(place(position))


class Conditions:
    """Counts the conditions of one request, reservation by reservation."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, comparisons: int) -> None:
        """Add the count of one reservation; raises InvalidInputError above MOST_CONDITIONS."""
        self._count += comparisons
        if self._count > MOST_CONDITIONS:
            message = (
                f"The request has more than {MOST_CONDITIONS} conditions: values in property expressions, and "
                "addresses that it names. Ask for less, or for several leases."
            )
            raise InvalidInputError(message)
