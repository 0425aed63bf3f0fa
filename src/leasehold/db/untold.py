"""The leases that a transaction has changed, and of whose last change no event has told (feature L9).

Every event of a lease carries its state. `Database.transact` writes the state of the others (`db/lease_state.py`), so
no use case can forget it, and no change that has an event takes a statement more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from leasehold.db.together import Writer
    from leasehold.model.lease import Lease

_KEY: Final = "leasehold_untold"


def watch(connection: Connection) -> None:
    """Begin to note the changes of a transaction; what an earlier one on this connection left is forgotten."""
    connection.info[_KEY] = {}


def note(connection: Writer, lease: Lease) -> None:
    """Note the state of a lease that was just written."""
    found: dict[str, Lease] | None = connection.info.get(_KEY)
    if found is not None:
        found[lease.id] = lease


def told(connection: Writer, lease: Lease) -> None:
    """Note that an event carries this state of a lease."""
    found: dict[str, Lease] = connection.info.get(_KEY) or {}
    if lease.id in found and found[lease.id].generation == lease.generation:
        del found[lease.id]


def take(connection: Connection) -> Sequence[Lease]:
    """Return the states of which no event has told, and end the notes."""
    found: dict[str, Lease] = connection.info.pop(_KEY, None) or {}
    return list(found.values())
