"""What one request may contain: looked at before the cloud is asked or anything is locked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from leasehold.model.errors import InvalidInputError
from leasehold.resource_types.matching import CONDITION_FIELDS, count_conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leasehold.resource_types.base import Request

MOST_CONDITIONS: Final = 1024
"""Values that the property expressions of one request compare with, and addresses that it names."""
MOST_TEXT: Final = 64 * 1024
"""Characters of all property expressions of one request."""


def check_texts(reservations: Iterable[Mapping[str, Any]]) -> None:
    """Raise InvalidInputError for property expressions that are too long together to be read at all."""
    length = 0
    for position, raw in enumerate(reservations):
        for field in CONDITION_FIELDS:
            text = raw.get(field)
            length += len(text) if isinstance(text, str) else 0
            if length > MOST_TEXT:
                message = (
                    f"The property expressions of the request have more than {MOST_TEXT} characters. "
                    "Ask for less, or for several leases."
                )
                raise InvalidInputError(message, field=f"reservations[{position}].{field}")


class Conditions:
    """Counts the conditions of one request, reservation by reservation."""

    def __init__(self) -> None:
        """Start with none."""
        self._count = 0

    def add(self, request: Request) -> None:
        """Raise InvalidInputError when the request has more conditions than a request may have."""
        self._count += count_conditions(request)
        if self._count > MOST_CONDITIONS:
            message = (
                f"The request has more than {MOST_CONDITIONS} conditions: values in property expressions, and "
                "addresses that it names. Ask for less, or for several leases."
            )
            raise InvalidInputError(message)
