"""Clauses: what features say about a decision under its locks, before it is written (decision 0155)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.locks import Locks


class Transaction(Protocol):
    """The transaction in which it was decided, as a clause may use it: it reads, and writes what is its own."""

    @property
    def connection(self) -> Connection: ...

    def snapshots(self, locks: Locks) -> AbstractContextManager[dict[str, Snapshot]]:
        """Return the locked pools as they are, inside a block."""
        ...


Clause: TypeAlias = "Callable[[Transaction, Decision], Decision]"
"""Refuses a decision, by a LeaseholdError, or returns it with what it adds."""
