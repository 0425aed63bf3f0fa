"""Property expressions of a request, given by field, as conditions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from leasehold.model.properties import ANYTHING, both, names, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.properties import Expression

MOST_REMEMBERED = 128
"""Parsed expressions that are kept. The largest take a sixth of a megabyte, and anybody may send those."""


@lru_cache(MOST_REMEMBERED)
def _condition(expressions: tuple[tuple[str, str], ...]) -> Expression:
    condition: Expression = ANYTHING
    for field, text in expressions:
        condition = both(condition, parse(text, field))
    return condition


def condition_of(expressions: Mapping[str, str]) -> Expression:
    """Return the condition that all expressions, given by field, state together."""
    return _condition(tuple(expressions.items()))


def newly_named(expressions: Mapping[str, str], before: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return by field the names that an expression mentions, of those expressions that `before` has not already."""
    changed = ((field, text) for field, text in expressions.items() if before.get(field) != text)
    return {field: names(parse(text, field)) for field, text in changed}
