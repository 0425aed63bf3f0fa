"""Restrict what callers may ask about resources, so that they cannot identify one (docs/decisions/0018).

A refusal says how many resources match. A caller who may compare a name or a private property with any value could
therefore guess it one character at a time. Only new expressions are checked: an amendment keeps those that an operator
wrote. What is evaluated again and again, as an alarm is, is checked each time: a property may have become private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.db.resources.property import private_names
from leasehold.model.errors import InvalidInputError
from leasehold.resource_types.conditions import newly_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Sight
    from leasehold.resource_types.kind import Kind

ALWAYS_IDENTIFYING = frozenset({"id", "created_at", "updated_at"})
"""The attributes that identify a single resource of any type."""
ALWAYS_PUBLIC = frozenset({"reservable"})


def check_names(sight: Sight, kind: Kind[Any], new_names: Mapping[str, frozenset[str]]) -> None:
    """Raise InvalidInputError with the field when a new expression uses an identifying attribute without permission.

    `new_names` holds the names that the new expressions mention, by field.
    """
    if sight.hosts or kind.public:
        return
    for field, mentioned in new_names.items():
        if identifying := sorted(mentioned & (ALWAYS_IDENTIFYING | kind.identifying)):
            message = (
                f"${identifying[0]} identifies a {kind.singular}, so only callers who may list {kind.singular}s may "
                f"use it. Ask for what the {kind.singular} has to have, such as a property."
            )
            raise InvalidInputError(message, field=field)


def hidden_names(
    service: Service, sight: Sight, mentioned: Iterable[tuple[Kind[Any], frozenset[str]]]
) -> frozenset[str]:
    """Return the private properties if the caller may not use them and the requests mention a property; else none.

    `mentioned` are the kinds of the requests with the names that each request mentions.
    """
    if sight.private:
        return frozenset()
    known = ALWAYS_IDENTIFYING | ALWAYS_PUBLIC
    types = {kind.resources for kind, names in mentioned if not names <= known | kind.identifying | kind.discovered}
    if not types:
        return frozenset()
    with service.db.reading() as connection:
        return private_names(connection, types)


def closed_names(private: Collection[tuple[str, str]], kind: Kind[Any], request: Any) -> frozenset[str]:
    """Return those of the private properties, given by `private_keys`, that a stored request names."""
    named: frozenset[str] = frozenset().union(*newly_named(kind.expressions(request), {}).values())
    return frozenset(name for name in named if (kind.resources, name) in private)
