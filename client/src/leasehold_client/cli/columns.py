"""Cells that are sentences in a table, and plain values in JSON, YAML and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cliff.columns import FormattableColumn

from leasehold_client.cli.visible import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable


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
