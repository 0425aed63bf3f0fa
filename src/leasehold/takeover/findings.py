"""What an operator has to know about single rows: each finding names the row, what is wrong, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.takeover.rows import Row


class TakeoverError(Exception):
    """The import cannot be done at all; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ImportFinding:
    """One row that was not taken as it is."""

    table: str
    id: str
    what: str
    remedy: str


@dataclass(slots=True)
class Findings:
    """The findings so far, in the order in which they were made."""

    entries: list[ImportFinding] = field(default_factory=list)

    def add(self, row: Row, what: str, remedy: str) -> None:
        """Note something about a row: a sentence of what it is, and one of what to do."""
        self.entries.append(ImportFinding(row.table, row.id, what, remedy))
