"""Refuse what nothing reads, from microversion 1.2 on: unknown keys of a body, and unknown query keys.

From 1.3 on that is also a query key without a value, and all values but one.

At 1.0 and 1.1 they are ignored, because v1 clients send keys that the service does not read (contract http-api §2,
§5.3). What is known follows from what reads it: the query keys of the route, the request's model, and the schema of the
resource type's kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from leasehold.api.models.lease import OpenObject
from leasehold.api.versions import LAYOUTS, MAXIMUM, Version
from leasehold.model.errors import InvalidInputError, UnknownKeysError
from leasehold.resource_types import ending, layout, no_show
from leasehold.resource_types.unknown_keys import LONGEST_NAMED, MOST_NAMED, refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leasehold.resource_types.registry import ResourceType
    from leasehold.resource_types.unknown_keys import Place

Part = TypeVar("Part", bound=OpenObject)

KEYS = ending.KEYS | no_show.KEYS
"""The keys of reservations that do not belong to one resource type; all of them are from 1.2 on."""


def check_query(sent: Iterable[str], known: Sequence[str]) -> None:
    """Raise UnknownKeysError for query keys that the route does not read."""
    unknown = [key[:LONGEST_NAMED] for key in sent if key not in known]
    if unknown:
        raise UnknownKeysError(unknown[:MOST_NAMED], known, "query key")


def check_values(sent: Mapping[str, str | list[str]]) -> None:
    """Raise InvalidInputError for a query key that has no value, or several: it would be left out, or all but one."""
    for key, value in sent.items():
        if isinstance(value, list):
            message = f"The query has {key[:LONGEST_NAMED]} more than once. Send it once, with one value."
            raise InvalidInputError(message, field=key[:LONGEST_NAMED])
        if not value:
            message = f"{key[:LONGEST_NAMED]} has no value in the query. Give it one, or leave it out."
            raise InvalidInputError(message, field=key[:LONGEST_NAMED])


def later_keys(type_: ResourceType, version: Version) -> frozenset[str]:
    """Return the keys of reservations of this type that this version of the API does not have yet."""
    return layout.KEYS if version < LAYOUTS and issubclass(type_.kind.schema, layout.LaidOut) else frozenset()


def check_reservations(
    reservations: Sequence[Part] | None, type_of: Callable[[Part], ResourceType | None], version: Version = MAXIMUM
) -> None:
    """Raise UnknownKeysError for keys that neither the model nor the resource type of a reservation reads.

    `type_of` returns None for a reservation that a use case refuses for another reason: an unknown type or id.
    """
    for position, each in enumerate(reservations or ()):
        check_reservation(each, ("reservations", position), type_of(each), KEYS, version)


def check_reservation(
    sent: OpenObject, place: Place, type_: ResourceType | None, also: Iterable[str] = (), version: Version = MAXIMUM
) -> None:
    """Raise UnknownKeysError for keys that neither the model nor the type of a reservation reads; None: any key may be.

    `place` is where the reservation is in the body; `also` are further keys that are read.
    """
    if type_ is not None:
        known = {*type(sent).model_fields, *also}
        refuse_unknown(type_.kind.schema, sent.model_dump(), place, known, later_keys(type_, version))
