"""Cells that are sentences in a table, and plain values in JSON, YAML and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cliff.columns import FormattableColumn


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
        """Return the form for tables."""
        return str(self._value.human)

    def machine_readable(self) -> Any:
        """Return the form for programs."""
        return self._value.plain
