"""Findings about single rows for the operator: each names the row, what is wrong, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.takeover.rows import Row


class TakeoverError(Exception):
    """The import is impossible; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ImportFinding:
    """One row that is not imported as it is."""

    table: str
    id: str
    what: str
    remedy: str


@dataclass(slots=True)
class Findings:
    """The findings so far, oldest first."""

    entries: list[ImportFinding] = field(default_factory=list)

    def add(self, row: Row, what: str, remedy: str) -> None:
        """Add a finding about a row: `what` says what is wrong, `remedy` what to do, a sentence each."""
        self.entries.append(ImportFinding(row.table, row.id, what, remedy))
