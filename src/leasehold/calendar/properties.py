"""The names and property values of a pool's resources, as immutable columns.

A condition may take long to evaluate, so it is evaluated before the pool is locked, on the columns as they are then,
while the calendar may change. A change makes new columns (`PropertyTable.put`), so an answer is still right if it was
given for the present table.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from leasehold.model.budget import nothing_to_check
from leasehold.model.properties import (
    EQUALITIES,
    NULL,
    And,
    Comparison,
    Expression,
    Not,
    as_number,
    as_text,
    as_version,
    equality_key,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Mask, Rows

_SPARE_VALUES = 64


class ValueColumn:
    """One name's values for every row, with each distinct value stored once.

    `codes`, shape (rows,), has 0 where a resource has no value, otherwise the value's code. `present`, shape (rows,),
    says which resources have the name, even without a value. A comparison is evaluated once per distinct value and
    looked up for the rows, so ten thousand hosts of five models cost five comparisons. An ordering takes two binary
    searches, however many distinct values there are.
    """

    def __init__(self, codes: NDArray[np.int32], present: Mask, texts: Texts) -> None:
        """Take arrays and texts that do not change any more."""
        self.codes = codes
        self.present = present
        self._texts = texts

    @classmethod
    def empty(cls, rows: int) -> ValueColumn:
        """Return the column of a name that none of `rows` resources has."""
        return cls(np.zeros(rows, np.int32), np.zeros(rows, np.bool_), Texts())

    def put(self, rows: Sequence[int], given: Sequence[Mapping[str, object]], name: str) -> ValueColumn:
        """Return the column in which these rows have the values of `name` in their `given`, or none without one."""
        values = [each.get(name) for each in given]
        wanted = [None if value is None else as_text(value) for value in values]
        has = [name in each for each in given]
        if wanted == [self._texts.of(code) for code in self.codes[rows]] and has == self.present[rows].tolist():
            return self
        codes, present, texts = self.codes.copy(), self.present.copy(), self._texts.copy()
        present[rows] = has
        codes[rows] = [texts.code(text) for text in wanted]
        if len(texts) > 2 * codes.size + _SPARE_VALUES:
            # Most texts are no longer any row's value, as happens with times of last change.
            codes, texts = _compacted(codes, texts)
        return ValueColumn(codes, present, texts)

    def spread(self, moved: Rows, size: int) -> ValueColumn:
        """Return the column with `size` rows, where the old row `r` is row `moved[r]`."""
        codes, present = np.zeros(size, np.int32), np.zeros(size, np.bool_)
        codes[moved], present[moved] = self.codes, self.present
        return ValueColumn(codes, present, self._texts)

    def holds(self, comparison: Comparison) -> Mask:
        """Return `leasehold.model.properties.holds` for every row."""
        return self._texts.answers(comparison)[self.codes]

    def value(self, row: int) -> str | None:
        """Return the value of one row, None if it has none."""
        return self._texts.of(int(self.codes[row]))

    def values(self, rows: Mask) -> list[str]:
        """Return the distinct values of these rows, in no order."""
        found = map(self._texts.of, np.unique(self.codes[rows]).tolist())
        return [text for text in found if text is not None]

    def groups(self) -> Rows:
        """Return a number for each row, shape (rows,): the same for equal values, and -1 without a value."""
        return self._texts.groups()[self.codes]


def _compacted(codes: NDArray[np.int32], texts: Texts) -> tuple[NDArray[np.int32], Texts]:
    """Return the same column without the texts that no row has."""
    fewer = Texts()
    return np.array([fewer.code(texts.of(code)) for code in codes], np.int32), fewer


class Texts:
    """The distinct values of a column: the first text has the code 1, and 0 stands for no value."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._code_of: dict[str, int] = {}
        self._codes_equal: dict[int | float | str, tuple[int, ...]] = {}
        self._ranks: _Ranks | None = None

    def __len__(self) -> int:
        return len(self._texts)

    def copy(self) -> Texts:
        """Return a copy, to which more texts may be added."""
        other = Texts()
        other._texts, other._code_of = [*self._texts], {**self._code_of}
        other._codes_equal, other._ranks = {**self._codes_equal}, self._ranks
        return other

    def of(self, code: int) -> str | None:
        """Return the text that has the code, None for 0."""
        return self._texts[code - 1] if code else None

    def code(self, text: str | None) -> int:
        """Return the code of a text, which is added if it is new; 0 for None."""
        if text is None:
            return 0
        code = self._code_of.get(text)
        if code is None:
            self._texts.append(text)
            code = self._code_of[text] = len(self._texts)
            key = equality_key(text)
            self._codes_equal[key] = (*self._codes_equal.get(key, ()), code)
            self._ranks = None
        return code

    def groups(self) -> Rows:
        """Return a number for every code, shape (texts + 1,): equal texts have the same one, and no value has -1."""
        groups = np.full(len(self._texts) + 1, -1, np.intp)
        for codes in self._codes_equal.values():
            groups[list(codes)] = codes[0]
        # An expression cannot tell this text from no value.
        groups[self._code_of.get(NULL, 0)] = -1
        return groups

    def answers(self, comparison: Comparison) -> Mask:
        """Return `leasehold.model.properties.holds` for every code, shape (texts + 1,)."""
        answers = np.zeros(len(self._texts) + 1, np.bool_)
        word, values = comparison.operator, comparison.values
        if word in EQUALITIES or word == "!=":
            for value in values:
                answers[list(self._codes_equal.get(equality_key(value), ()))] = True
            answers[0] = NULL in values
            if word == "!=":
                answers = ~answers
                answers[0] = False
        else:
            if self._ranks is None:
                self._ranks = _Ranks(self._texts)
            answers[1:] = self._ranks.ordered(word, values[0])
        return answers


class _Ranks:
    """The texts of a column in sorted order, and those that are numbers or versions also in the order of these."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Sort the texts; this takes as long as a few comparisons with each of them."""
        self._texts, self._of_text = _ranked(texts)
        self._numbers, self._of_number = _ranked([as_number(text) for text in texts])
        self._versions, self._of_version = _ranked([as_version(text) for text in texts])

    def ordered(self, word: str, literal: str) -> Mask:
        """Return `leasehold.model.properties.ordered` for every text."""
        number, version = as_number(literal), as_version(literal)
        # A number has no place among texts.
        answers = _of_ranks(word, self._of_text, self._texts, literal) & (self._of_number < 0)
        if version is not None:
            among = _of_ranks(word, self._of_version, self._versions, version)
            answers = np.where(self._of_version < 0, answers, among)
        if number is not None:
            answers = np.where(self._of_number < 0, answers, _of_ranks(word, self._of_number, self._numbers, number))
        return answers


def _ranked(values: Sequence[Any]) -> tuple[Sequence[Any], NDArray[np.int64]]:
    """Return the distinct values in their order, and the place there of each of them; None has the place -1."""
    distinct = sorted({value for value in values if value is not None})
    places = {value: place for place, value in enumerate(distinct)}
    return distinct, np.fromiter((places.get(value, -1) for value in values), np.int64, len(values))


def _of_ranks(word: str, ranks: NDArray[np.int64], values: Sequence[Any], literal: Any) -> Mask:
    """Compare a literal with the values that have these places among all values."""
    below, not_above = bisect_left(values, literal), bisect_right(values, literal)
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


class PropertyTable:
    """The values of all resources of a pool, immutable: a column for each name, a row for each resource."""

    def __init__(self, rows: int = 0, columns: Mapping[str, ValueColumn] | None = None) -> None:
        """Take the columns, each of which has `rows` rows."""
        self._rows = rows
        self._columns = {} if columns is None else columns

    def put(self, rows: Sequence[int], given: Sequence[Mapping[str, object]]) -> PropertyTable:
        """Return the table in which these rows have exactly the values that are given for them.

        Returns this very table if they have them already.
        """
        names = self._columns.keys() | set().union(*given)
        before = {name: self._columns.get(name) or ValueColumn.empty(self._rows) for name in names}
        after = {name: column.put(rows, given, name) for name, column in before.items()}
        unchanged = all(after[name] is self._columns.get(name) for name in names)
        return self if unchanged else PropertyTable(self._rows, after)

    def spread(self, moved: Rows, size: int) -> PropertyTable:
        """Return the table with `size` rows, where the old row `r` is row `moved[r]`."""
        return PropertyTable(size, {name: column.spread(moved, size) for name, column in self._columns.items()})

    def names(self, rows: Mask) -> frozenset[str]:
        """Return the names that any of these rows has, even without a value."""
        return frozenset(name for name, column in self._columns.items() if column.present[rows].any())

    def values(self, rows: Mask) -> dict[str, list[str]]:
        """Return the names that any of these rows has a value of, each with the distinct values, in no order."""
        found = ((name, column.values(rows)) for name, column in self._columns.items())
        return {name: values for name, values in found if values}

    def value(self, name: str, row: int) -> str | None:
        """Return the value of `name` that one row has, None if it has none."""
        return self._columns[name].value(row) if name in self._columns else None

    def values_of(self, name: str, rows: Mask) -> list[str]:
        """Return the distinct values of `name` that these rows have, in no order."""
        return self._columns[name].values(rows) if name in self._columns else []

    def groups(self, name: str) -> Rows:
        """Return a number for each row, shape (rows,): the same for equal values of `name`, and -1 without one."""
        return (self._columns.get(name) or ValueColumn.empty(self._rows)).groups()

    def matching(self, expression: Expression, check: Callable[[], None] = nothing_to_check) -> Mask:
        """Return the mask of the rows that match; `check` is called before each comparison, and may raise."""
        match expression:
            case Comparison():
                check()
                return (self._columns.get(expression.name) or ValueColumn.empty(self._rows)).holds(expression)
            case Not():
                return ~self.matching(expression.part, check)
            case And():
                mask = np.ones(self._rows, np.bool_)
                for part in expression.parts:
                    mask &= self.matching(part, check)
                return mask
            case _:
                mask = np.zeros(self._rows, np.bool_)
                for part in expression.parts:
                    mask |= self.matching(part, check)
                return mask


class Answers:
    """Which resources match the conditions of one decision, each condition evaluated once, on one table."""

    def __init__(self, table: PropertyTable) -> None:
        self.table = table
        self._masks: dict[Expression, Mask] = {}

    def to(self, expression: Expression, check: Callable[[], None] = nothing_to_check) -> Mask:
        """Return the mask of the rows that match, which the caller may change; `check` may end it by raising."""
        known = self._masks.get(expression)
        if known is None:
            known = self._masks[expression] = self.table.matching(expression, check)
        return known.copy()
