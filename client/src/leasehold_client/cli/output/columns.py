"""Cells that are sentences in a table, and plain values in JSON, YAML and CSV.

Text that others wrote, such as the names of their leases, is made harmless for a terminal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cliff.columns import FormattableColumn

if TYPE_CHECKING:
    from collections.abc import Iterable

_STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but the end of a line, and what turns the direction of writing."""


def visible(text: str) -> str:
    r"""Return the text with what would steer a terminal written out, such as `\x1b` for an escape."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """Return the same with the ends of lines written out as well, so that a name cannot pass for lines of ours."""
    return visible(text).replace("\n", r"\n")


@dataclass(frozen=True)
class _Pair:
    plain: Any
    human: str

    def __lt__(self, other: _Pair) -> bool:
        return bool(self.plain < other.plain)


class Shown(FormattableColumn[Any]):
    """A cell with one form for people and one for programs."""

    def __init__(self, plain: Any, human: str) -> None:
        """`plain` is what JSON can hold."""
        super().__init__(_Pair(plain, human))

    def human_readable(self) -> str:
        """Return the form for tables, with which nobody else's text steers the terminal."""
        return visible(str(self._value.human))

    def machine_readable(self) -> Any:
        """Return the form for programs."""
        return self._value.plain


def cells(row: Iterable[object]) -> list[object]:
    """Return a row of which each text has one form for people and one for programs."""
    return [Shown(each, one_line(each)) if isinstance(each, str) else each for each in row]
