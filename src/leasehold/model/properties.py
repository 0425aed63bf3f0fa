"""Property expressions: which resources a request wants (contract resources §0.1, feature C1).

An expression is a JSON text. The empty text and `[]` match every resource. Everything else is a list that starts with
its operator:

    [op, "$name", "value"]                op is one of == = != < <= > >=   ("=" is "==")
    ["in", "$name", "value", "value"...]  any of the values
    ["and", e, ...]  ["or", e, ...]  ["not", e]

What a comparison means, for a value as text (booleans are "True" and "False"):

* Equal is textual, and also numeric where both sides are numbers: "8", "8.0" and the integer 8 are all equal.
* The four orderings compare numbers where both sides are numbers, and versions where both are versions, as Python's
  packages write them: "2.10.0" is above "2.9". Texts are compared by code point. A number has no place among texts, so
  no ordering holds between it and one; where all resources have numbers, the request is refused (`orders_numbers`).
  Only plain finite decimal notation is a number: "nan", "inf" and "1_0" are text.
* A size with a unit, such as "64G" or "64GiB", is a number for a name that ends in the unit it has, as "$memory_mb".
  All units are powers of 1024, as those of Nova.
* A resource that lacks the name never matches, for `!=` neither, so `not` of a comparison does match it. The one
  exception is the literal "null", which means "has no value": `["==", "$status", "null"]` (contract resources §0.1).
"""

from __future__ import annotations

import json
import math
import operator
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from packaging.version import InvalidVersion, Version

from leasehold.model.errors import MalformedExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

MAX_DEPTH: Final = 32
MAX_COMPARISONS: Final = 256
MAX_BYTES: Final = 16 * 1024

NULL: Final = "null"
EQUALITIES: Final = frozenset({"==", "in"})
_ALIASES: Final[Mapping[str, str]] = {"=": "=="}
_ORDERINGS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATORS: Final = frozenset({"==", "!=", *_ORDERINGS})
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,1000}")
_SIZE: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([KMGTP])(?:i?B)?", re.IGNORECASE)
_UNITS: Final = "KMGTP"
_EXAMPLE: Final = 'Example: ["and", [">=", "$vcpus", "8"], ["==", "$gpu", "True"]]'
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Comparison:
    """One name against one value, or for `in` against several; `operator` is never the alias `=`."""

    operator: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold; without parts it matches every resource."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Expression


Expression: TypeAlias = Comparison | And | Or | Not

ANYTHING: Final = And(())
"""The expression that every resource matches."""


def parse(text: str, field: str, *, sizes: bool = True) -> Expression:
    """Return the expression that `text` contains.

    Raises `MalformedExpressionError` for `field` when the text is not an expression, nests more than `MAX_DEPTH`
    levels, compares with more than `MAX_COMPARISONS` values, is longer than `MAX_BYTES` in UTF-8, or has a size with a
    unit and may have no `sizes`.
    """
    if not text:
        return ANYTHING
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise MalformedExpressionError(
            f"The expression in {field} is longer than {MAX_BYTES} bytes. Ask for less.", field=field
        )
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        # RecursionError: lists nested too deeply for the decoder. ValueError: also integers with too many digits.
        raise MalformedExpressionError(f"The expression in {field} is not JSON. {_EXAMPLE}", field=field) from error
    return ANYTHING if tree == [] else _Parser(field, sizes=sizes).expression(tree, 1)


class _Parser:
    """Turns one decoded JSON value into an expression, and counts its comparisons."""

    def __init__(self, field: str, *, sizes: bool) -> None:
        self._field = field
        self._sizes = sizes
        self._comparisons = 0

    def expression(self, tree: object, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise MalformedExpressionError(
                f"The expression in {self._field} nests more than {MAX_DEPTH} levels.", field=self._field
            )
        if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
            raise self._malformed(tree, "must be a list that starts with an operator")
        word = _ALIASES.get(tree[0], tree[0])
        return self._joined(word, tree, depth) if word in {"and", "or", "not"} else self._comparison(word, tree)

    def _joined(self, word: str, tree: list[object], depth: int) -> Expression:
        if word == "not" and len(tree) != 2:  # noqa: PLR2004 - the word and its operand
            raise self._malformed(tree, 'needs exactly one expression after "not"')
        if len(tree) == 1:
            raise self._malformed(tree, f'needs at least one expression after "{word}"')
        parts = tuple(self.expression(part, depth + 1) for part in tree[1:])
        if word == "not":
            return Not(parts[0])
        return And(parts) if word == "and" else Or(parts)

    def _comparison(self, word: str, tree: list[object]) -> Comparison:
        self._comparisons += max(1, len(tree) - 2)
        if self._comparisons > MAX_COMPARISONS:
            message = f"The expression in {self._field} compares with more than {MAX_COMPARISONS} values."
            raise MalformedExpressionError(message, field=self._field)
        name, *values = self._texts(word, tree)
        if not name.startswith("$") or name == "$":
            raise self._malformed(tree, 'needs a name with a leading dollar sign, such as "$vcpus"')
        if not all(values):
            raise self._malformed(tree, "has an empty value")
        if not all(map(_is_encodable, (name, *values))):
            raise self._malformed(tree, "holds a lone surrogate, which is not text")
        plain = tuple(_without_unit(name, value) for value in values)
        if plain != tuple(values) and not self._sizes:
            raise self._malformed(tree, "has a unit, which needs microversion 1.1: write the number alone")
        return Comparison(word, name[1:], plain)

    def _texts(self, word: str, tree: list[object]) -> list[str]:
        """Return the operands of a comparison: a name and a value, or several after `in`."""
        if word != "in" and word not in _OPERATORS:
            raise self._malformed(tree, "starts with an unknown operator; known are == = != < <= > >= in and or not")
        texts = [operand for operand in tree[1:] if isinstance(operand, str)]
        if len(texts) != len(tree) - 1:
            raise self._malformed(tree, 'must have texts only: write "8", not 8')
        if len(texts) < 2 or (word != "in" and len(texts) > 2):  # noqa: PLR2004 - a name and a value
            raise self._malformed(tree, "needs a name and a value" + (" or more" if word == "in" else ""))
        return texts

    def _malformed(self, part: object, complaint: str) -> MalformedExpressionError:
        # json.dumps escapes all that is not ASCII, so the message can be sent whatever the client wrote.
        shown = json.dumps(part)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        return MalformedExpressionError(f"{shown} {complaint}. {_EXAMPLE}", field=self._field)


def has_units(text: str) -> bool:
    """Say whether an expression's text may have sizes with a unit, which only `parse` knows."""
    return _SIZE.search(text) is not None


def _without_unit(name: str, literal: str) -> str:
    """Return a size as the number of the unit that ends the name, and any other literal as it is."""
    size, unit = _SIZE.fullmatch(literal), name.lower().rpartition("_")[2]
    if size is None or len(unit) != 2 or unit[1] != "b" or unit[0].upper() not in _UNITS:  # noqa: PLR2004 - "mb"
        return literal
    power = _UNITS.index(size[2].upper()) - _UNITS.index(unit[0].upper())
    number = Fraction(size[1]) * Fraction(1024) ** power
    return str(number.numerator if number.denominator == 1 else float(number))


def _is_encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def comparisons(expression: Expression) -> Iterator[Comparison]:
    """Yield all comparisons of an expression, from left to right."""
    match expression:
        case Comparison():
            yield expression
        case Not():
            yield from comparisons(expression.part)
        case And() | Or():
            for part in expression.parts:
                yield from comparisons(part)


def names(expression: Expression) -> frozenset[str]:
    """Return the names that the expression mentions, without their dollar signs."""
    return frozenset(each.name for each in comparisons(expression))


def count_values(expression: Expression) -> int:
    """Return how many values the expression compares with."""
    return sum(len(each.values) for each in comparisons(expression))


def both(a: Expression, b: Expression) -> Expression:
    """Return the expression that holds where both do: how v1's two fields combine (contract resources §0.1)."""
    parts = tuple(part for part in (a, b) if part != ANYTHING)
    return parts[0] if len(parts) == 1 else And(parts)


def as_text(value: object) -> str:
    """Return a resource's value as the text that comparisons use."""
    return value if isinstance(value, str) else str(value)


def as_number(text: str) -> int | float | None:
    """Return the finite number that the text writes in plain decimal notation, or None.

    Integers up to a thousand digits are exact.
    """
    if _INTEGER.fullmatch(text):
        return int(text)
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def as_version(text: str) -> Version | None:
    """Return the version that the text writes, which a plain number may do as well, or None."""
    if text[:1] not in "0123456789vV":
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def orderings(expression: Expression) -> Collection[Comparison]:
    """Return the comparisons that order a resource's value and a literal that is no number."""
    compared = (each for each in comparisons(expression) if each.operator in _ORDERINGS)
    return tuple(each for each in compared if as_number(each.values[0]) is None)


def orders_numbers(ordering: Comparison, values: Collection[str]) -> bool:
    """Say whether one of `orderings` asks about numbers alone, with a literal that cannot be compared with them.

    A version can be, unless all of them are whole.
    """
    numbers = [as_number(value) for value in values]
    if not numbers or None in numbers:
        return False
    return as_version(ordering.values[0]) is None or all(isinstance(number, int) for number in numbers)


def equality_key(text: str) -> int | float | str:
    """Return a key that is equal for two texts exactly when `==` holds between them."""
    number = as_number(text)
    return text if number is None else number


def ordered(word: str, text: str, literal: str) -> bool:
    """Say whether one of the orderings `< <= > >=` holds between a value's text and a literal."""
    order = _ORDERINGS[word]
    left, right = as_number(text), as_number(literal)
    if left is not None and right is not None:
        return order(left, right)
    older, newer = as_version(text), as_version(literal)
    if older is not None and newer is not None:
        return order(older, newer)
    return left is None and order(text, literal)


def holds(comparison: Comparison, value: object) -> bool:
    """Say whether one comparison holds for one value; None means that the resource lacks the name."""
    if value is None:
        return comparison.operator in EQUALITIES and NULL in comparison.values
    text = as_text(value)
    if comparison.operator in _ORDERINGS:
        return ordered(comparison.operator, text, comparison.values[0])
    equal = equality_key(text) in set(map(equality_key, comparison.values))
    return equal != (comparison.operator == "!=")


def matches(expression: Expression, value_of: Callable[[str], object]) -> bool:
    """Say whether a resource matches; `value_of` returns its value for a name, None when it has none.

    This is the reference implementation; the calendar computes the same for all resources at once.
    """
    match expression:
        case Comparison():
            return holds(expression, value_of(expression.name))
        case Not():
            return not matches(expression.part, value_of)
        case And():
            return all(matches(part, value_of) for part in expression.parts)
        case Or():
            return any(matches(part, value_of) for part in expression.parts)
