"""The resources of a pool as columns: one row per resource, in the order of their numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from leasehold.calendar.arrays import MOST_CAPACITY, Mask, Rows
from leasehold.model.properties import (
    EQUALITIES,
    NULL,
    And,
    Comparison,
    Expression,
    Not,
    as_number,
    as_text,
    equality_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.model.resource import Resource

_CACHED_COMPARISONS = 256
_CACHED_EXPRESSIONS = 64
_CACHED_AMOUNTS = 64
_SPARE_VALUES = 64


class ValueColumn:
    """One name's values for every row, each different value stored once.

    `codes` holds 0 where a resource has no value, otherwise 1 + the position in `texts`; `present` says who has the
    name at all, be it without a value. A comparison is answered once per different value and looked up for the rows,
    so ten thousand hosts of five models cost five comparisons. An ordering is two binary searches, however many
    different values there are.
    """

    def __init__(self, rows: int) -> None:
        """Start with `rows` resources that have no value."""
        self.codes: NDArray[np.int32] = np.zeros(rows, np.int32)
        self.present: Mask = np.zeros(rows, np.bool_)
        self.texts: list[str] = []
        self._code_of: dict[str, int] = {}
        self._codes_equal: dict[int | float | str, list[int]] = {}
        self._ranks: _Ranks | None = None

    def put(self, row: int, values: Mapping[str, object], name: str) -> None:
        """Set the value of one row to what `values` has for `name`, if anything."""
        value = values.get(name)
        self.codes[row] = 0 if value is None else self._code(as_text(value))
        self.present[row] = name in values

    def _code(self, text: str) -> int:
        code = self._code_of.get(text)
        if code is None:
            self.texts.append(text)
            code = self._code_of[text] = len(self.texts)
            self._codes_equal.setdefault(equality_key(text), []).append(code)
            self._ranks = None
        return code

    @property
    def wasteful(self) -> bool:
        """Say whether most stored values are no longer any row's value, as moments of change come to be."""
        return len(self.texts) > 2 * self.codes.size + _SPARE_VALUES

    def compacted(self) -> ValueColumn:
        """Return the same column without the values that no row has."""
        column = ValueColumn(self.codes.size)
        column.present = self.present
        for row in np.flatnonzero(self.codes):
            column.codes[row] = column._code(self.texts[self.codes[row] - 1])
        return column

    def holds(self, comparison: Comparison) -> Mask:
        """Return `leasehold.model.properties.holds` for every row."""
        answers = np.zeros(len(self.texts) + 1, np.bool_)
        word, values = comparison.operator, comparison.values
        if word in EQUALITIES or word == "!=":
            for value in values:
                answers[self._codes_equal.get(equality_key(value), [])] = True
            answers[0] = NULL in values
            if word == "!=":
                answers = ~answers
                answers[0] = False
        else:
            if self._ranks is None:
                self._ranks = _Ranks(self.texts)
            answers[1:] = self._ranks.ordered(word, values[0])
        return answers[self.codes]


class _Ranks:
    """The texts of a column in order, once as texts and once as the numbers that some of them are."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Sort them; this takes as long as some comparisons with each of them."""
        found = [as_number(text) for text in texts]
        self._texts = sorted(texts)
        self._numbers = sorted({number for number in found if number is not None})
        places = {text: place for place, text in enumerate(self._texts)}
        self._of_text = np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))
        numbers: dict[int | float | None, int] = {number: place for place, number in enumerate(self._numbers)}
        self._of_number = np.fromiter((numbers.get(number, -1) for number in found), np.int64, len(texts))

    def ordered(self, word: str, literal: str) -> Mask:
        """Return `leasehold.model.properties.ordered` for every text."""
        below, not_above = bisect_left(self._texts, literal), bisect_right(self._texts, literal)
        answers = _of_ranks(word, self._of_text, below, not_above)
        number = as_number(literal)
        if number is not None:
            below, not_above = bisect_left(self._numbers, number), bisect_right(self._numbers, number)
            answers = np.where(self._of_number < 0, answers, _of_ranks(word, self._of_number, below, not_above))
        return answers


def _of_ranks(word: str, ranks: NDArray[np.int64], below: int, not_above: int) -> Mask:
    """Compare ranks with a literal that has `below` values below it, and `not_above` that are not above it."""
    match word:
        case "<":
            answers = ranks < below
        case "<=":
            answers = ranks < not_above
        case ">":
            answers = ranks >= not_above
        case _:
            answers = ranks >= below
    mask: Mask = answers
    return mask


class ResourceTable:
    """All resources of one pool that the calendar was told of.

    `numbers` also has the numbers that only allocations mention; such a row is not bookable and has nothing.
    """

    def __init__(self) -> None:
        """Start without resources."""
        self.numbers: NDArray[np.int64] = np.empty(0, np.int64)
        self.bookable: Mask = np.empty(0, np.bool_)
        self.enrolled: Mask = np.empty(0, np.bool_)
        self._values: dict[str, ValueColumn] = {}
        self._capacity: dict[str, NDArray[np.int64]] = {}
        self._max_unit: dict[str, NDArray[np.int64]] = {}
        self._traits: dict[str, Mask] = {}
        self._answers: dict[Comparison, Mask] = {}
        self._matching: dict[Expression, Mask] = {}
        self._room: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._names: frozenset[str] | None = None

    def __len__(self) -> int:
        return self.numbers.size

    def rows(self, numbers: Iterable[int] | NDArray[np.int64]) -> Rows:
        """Return the rows of these resource numbers, in their order; raises `KeyError` for one that is not known."""
        wanted = numbers if isinstance(numbers, np.ndarray) else np.fromiter(numbers, np.int64)
        found = np.searchsorted(self.numbers, wanted)
        known = found < self.numbers.size
        known[known] = self.numbers[found[known]] == wanted[known]
        if not known.all():
            raise KeyError(int(wanted[~known][0]))
        return found

    def make_room(self, numbers: NDArray[np.int64]) -> Rows | None:
        """Add rows for the numbers that have none yet.

        Returns the new position of every old row where they moved, else None.
        """
        old = self.numbers
        if old.size and numbers.size:
            found = np.minimum(np.searchsorted(old, numbers), old.size - 1)
            numbers = numbers[old[found] != numbers]
        if not numbers.size:
            return None
        self.numbers = np.union1d(old, numbers)
        moved = np.searchsorted(self.numbers, old)
        self._answers.clear()
        self._matching.clear()
        self._room.clear()
        for column in self._values.values():
            column.codes = self._spread(column.codes, moved, 0)
            column.present = self._spread(column.present, moved, fill=False)
        for amounts in (self._capacity, self._max_unit):
            amounts.update({name: self._spread(column, moved, -1) for name, column in amounts.items()})
        self._traits = {name: self._spread(column, moved, fill=False) for name, column in self._traits.items()}
        self.bookable = self._spread(self.bookable, moved, fill=False)
        self.enrolled = self._spread(self.enrolled, moved, fill=False)
        return moved if old.size and moved[-1] != old.size - 1 else None

    def _spread(self, column: NDArray, moved: Rows, fill: int | bool) -> NDArray:  # type: ignore[type-arg]  # noqa: FBT001
        wider = np.full(self.numbers.size, fill, column.dtype)
        wider[moved] = column
        return wider

    def put(self, resources: Sequence[Resource]) -> None:
        """Insert or replace these resources, whose rows exist."""
        self._answers.clear()
        self._matching.clear()
        self._room.clear()
        self._names = None
        for resource, row in zip(resources, self.rows([r.number for r in resources]).tolist(), strict=True):
            self.bookable[row] = resource.bookable
            self.enrolled[row] = resource.deleted_at is None
            self._put_values(row, resource.values)
            self._put_amounts(self._capacity, row, resource.capacity)
            self._put_amounts(self._max_unit, row, resource.max_unit)
            for name in resource.traits - self._traits.keys():
                self._traits[name] = np.zeros(len(self), np.bool_)
            for name, column in self._traits.items():
                column[row] = name in resource.traits
        for name, values in self._values.items():
            if values.wasteful:
                self._values[name] = values.compacted()

    def _put_values(self, row: int, values: Mapping[str, object]) -> None:
        for name in values.keys() - self._values.keys():
            self._values[name] = ValueColumn(len(self))
        for name, column in self._values.items():
            column.put(row, values, name)

    def _put_amounts(self, amounts: dict[str, NDArray[np.int64]], row: int, given: Mapping[str, int]) -> None:
        for name in given.keys() - amounts.keys():
            amounts[name] = np.full(len(self), -1, np.int64)
        for name, column in amounts.items():
            amount = given.get(name)
            column[row] = -1 if amount is None else max(0, min(int(amount), MOST_CAPACITY))

    def known_names(self) -> frozenset[str]:
        """Return all names that a resource which is still enrolled has, be it without a value."""
        if self._names is None:
            self._names = frozenset(
                name for name, column in self._values.items() if column.present[self.enrolled].any()
            )
        return self._names

    def matching(self, expression: Expression) -> Mask:
        """Return which rows match; the answer belongs to the caller."""
        known = self._matching.pop(expression, None)
        if known is None:
            known = self._evaluate(expression)
        # The one that was asked for last comes last: the first is the one to forget.
        self._matching[expression] = known
        if len(self._matching) > _CACHED_EXPRESSIONS:
            del self._matching[next(iter(self._matching))]
        return known.copy()

    def _evaluate(self, expression: Expression) -> Mask:
        match expression:
            case Comparison():
                return self._answer(expression)
            case Not():
                return ~self._evaluate(expression.part)
            case And():
                mask = np.ones(len(self), np.bool_)
                for part in expression.parts:
                    mask &= self._evaluate(part)
                return mask
            case _:
                mask = np.zeros(len(self), np.bool_)
                for part in expression.parts:
                    mask |= self._evaluate(part)
                return mask

    def _answer(self, comparison: Comparison) -> Mask:
        answer = self._answers.get(comparison)
        if answer is None:
            if len(self._answers) >= _CACHED_COMPARISONS:
                self._answers.clear()
            column = self._values.get(comparison.name) or ValueColumn(len(self))
            answer = self._answers[comparison] = column.holds(comparison)
        return answer

    def with_traits(self, required: frozenset[str], forbidden: frozenset[str]) -> Mask:
        """Return which rows have all the required traits and none of the forbidden ones."""
        mask = np.ones(len(self), np.bool_)
        for name in required:
            mask &= self._traits.get(name, False)
        for name in forbidden & self._traits.keys():
            mask &= ~self._traits[name]
        return mask

    def room_for(self, resource_class: str, amount: int) -> NDArray[np.int64]:
        """Return each row's capacity of a class, 0 where one slot of `amount` is more than it lets one have."""
        known = self._room.get((resource_class, amount))
        if known is None:
            if len(self._room) >= _CACHED_AMOUNTS:
                self._room.clear()
            nothing = np.full(len(self), -1, np.int64)
            capacity = self._capacity.get(resource_class, nothing)
            limit = self._max_unit.get(resource_class, nothing)
            known = np.where((limit >= 0) & (amount > limit), 0, np.maximum(capacity, 0))
            self._room[resource_class, amount] = known
        return known
