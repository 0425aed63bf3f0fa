"""Property conditions of a request, applied to a snapshot."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from leasehold.model.errors import InvalidInputError
from leasehold.model.properties import both, count_values, names, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy import bool_
    from numpy.typing import NDArray

    from leasehold.model.properties import Expression
    from leasehold.resource_types.base import Request, Search

CONDITION_FIELDS = ("hypervisor_properties", "resource_properties")
MOST_REMEMBERED = 128
"""Expressions kept as they were read. The largest take a sixth of a megabyte, and anybody may send those."""


@lru_cache(MOST_REMEMBERED)
def expression_of(hypervisor: str, resource: str) -> Expression:
    """Return the condition that both texts state together."""
    return both(parse(hypervisor, CONDITION_FIELDS[0]), parse(resource, CONDITION_FIELDS[1]))


def condition_of(request: Request) -> Expression:
    """Return the condition that both expressions of a request state together."""
    return expression_of(*(request.get(field, "") for field in CONDITION_FIELDS))


def newly_named(request: Request, before: Request | None) -> Mapping[str, frozenset[str]]:
    """Return by field the names that an expression mentions, of those expressions that `before` has not already."""
    changed = (field for field in CONDITION_FIELDS if before is None or request.get(field) != before.get(field))
    return {field: names(parse(request.get(field, ""), field)) for field in changed}


def matching(search: Search, request: Request) -> NDArray[bool_]:
    """Return which enrolled hosts meet both expressions of a request, which share one namespace (resources §0.1).

    Raises InvalidInputError when an expression names a property that no host has: a typing error would otherwise look
    like a full cloud. It does not name those that there are, for some are private; and one that is hidden from the
    caller is refused in the same words, unless the expression was there before.
    """
    snapshot = search.snapshot
    expression = condition_of(request)
    known = snapshot.known_names()
    unknown = names(expression) - known if known else frozenset()
    if known and search.hidden:
        unknown |= search.hidden & frozenset().union(*newly_named(request, search.before).values())
    if unknown:
        name = min(unknown)
        field = CONDITION_FIELDS[0] if f"${name}" in request.get(CONDITION_FIELDS[0], "") else CONDITION_FIELDS[1]
        message = f"No host has a property ${name}; GET /v1/os-hosts/properties lists those that can be asked for."
        raise InvalidInputError(message, field=field)
    return snapshot.matching(expression, search.check) & snapshot.enrolled()


def count_conditions(request: Request) -> int:
    """Return how many values a request has its resources compared with, and how many addresses it names."""
    return count_values(condition_of(request)) + len(request.get("required_floatingips", ()))
