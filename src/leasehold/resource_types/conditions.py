"""Parse the property expressions of a request, given by field, into one condition."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from leasehold.model.properties import ANYTHING, both, names, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.properties import Expression

MOST_REMEMBERED = 128
"""The size of the cache of parsed expressions: the largest take a sixth of a megabyte, and any caller may send them."""


@lru_cache(MOST_REMEMBERED)
def _condition(expressions: tuple[tuple[str, str], ...]) -> Expression:
    condition: Expression = ANYTHING
    for field, text in expressions:
        condition = both(condition, parse(text, field))
    return condition


def condition_of(expressions: Mapping[str, str]) -> Expression:
    """Return the conjunction of all expressions, given by field."""
    return _condition(tuple(expressions.items()))


def newly_named(expressions: Mapping[str, str], before: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return, by field, the names that the expressions mention which differ from those in `before`."""
    changed = ((field, text) for field, text in expressions.items() if before.get(field) != text)
    return {field: names(parse(text, field)) for field, text in changed}
