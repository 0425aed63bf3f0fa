"""Parse the property expressions of a request, given by field, into one condition."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from leasehold.model.errors import InvalidInputError
from leasehold.model.properties import ANYTHING, both, names, orderings, orders_numbers, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from leasehold.model.properties import Comparison, Expression

MOST_REMEMBERED = 128
"""The size of the cache of parsed expressions: the largest take a sixth of a megabyte, and any caller may send them."""
_SHOWN = 80


@lru_cache(MOST_REMEMBERED)
def _condition(expressions: tuple[tuple[str, str], ...]) -> Expression:
    condition: Expression = ANYTHING
    for field, text in expressions:
        condition = both(condition, parse(text, field))
    return condition


def condition_of(expressions: Mapping[str, str]) -> Expression:
    """Return the conjunction of all expressions, given by field."""
    return _condition(tuple(expressions.items()))


def check_orderings(
    expressions: Mapping[str, str], before: Mapping[str, str], values_of: Callable[[str], Collection[str]]
) -> None:
    """Raise InvalidInputError for an expression that differs from `before`, and orders numbers by what is no number.

    `values_of` returns the distinct values that resources have for a name.
    """
    for field, text in expressions.items():
        for each in () if text == before.get(field) else _orderings(field, text):
            if orders_numbers(each, values_of(each.name)):
                message = (
                    f"${each.name} has numbers, and {each.values[0][:_SHOWN]!r} is none; compare it with a number. "
                    "A unit, as in 64G, is understood where the name ends in one, as in $memory_mb."
                )
                raise InvalidInputError(message, field=field)


@lru_cache(MOST_REMEMBERED)
def _orderings(field: str, text: str) -> Collection[Comparison]:
    return orderings(parse(text, field))


def newly_named(expressions: Mapping[str, str], before: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return, by field, the names that the expressions mention which differ from those in `before`."""
    changed = ((field, text) for field, text in expressions.items() if before.get(field) != text)
    return {field: names(parse(text, field)) for field, text in changed}
