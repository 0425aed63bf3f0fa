"""Who makes the request that this thread works on: what the request changes is recorded with it (feature L9).

Use cases need not pass it on: only the record of changes reads it, and no decision depends on it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASKED_FOR = frozenset({"lease.create", "lease.waiting", "lease.update", "lease.deleting", "lease.delete"})
"""The events by which a request that names no lease changes one that it is about, such as a new one."""


@dataclass(frozen=True, slots=True)
class Actor:
    """A user acting in a project, and the lease that the request names; None if it names none."""

    user_id: str
    project_id: str
    lease_id: str | None = None

    def did(self, lease_id: str, event_type: str | None) -> bool:
        """Say whether the request asks for a change of this lease, and does not only bring it about.

        Leasehold itself moves other leases, for example to make room.
        """
        return self.lease_id == lease_id if self.lease_id is not None else event_type in _ASKED_FOR


_PRESENT: ContextVar[Actor | None] = ContextVar("actor", default=None)


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """Record what this thread changes in the block as changed by this actor; None: by Leasehold itself."""
    token = _PRESENT.set(actor)
    try:
        yield
    finally:
        _PRESENT.reset(token)


def actor_of(lease_id: str, event_type: str | None) -> Actor | None:
    """Return who asks for this change of a lease; None if Leasehold itself makes it."""
    present = _PRESENT.get()
    return present if present is not None and present.did(lease_id, event_type) else None
