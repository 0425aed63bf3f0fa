"""Write what healing or a swap decided: what reservations give up, and what they get instead (features J3, J6)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.allocation import end_allocations, leave_allocations
from leasehold.leasing.deciding.decide import promised_window
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.deciding.flags import with_flags
from leasehold.leasing.deciding.promised import AllocationChange, write_moves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.leasing.deciding.decision import Write
    from leasehold.leasing.deciding.mending import Mending
    from leasehold.leasing.deciding.rebinding_search import Move
    from leasehold.leasing.locks import Locks
    from leasehold.model.event_log import LeaseNews
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.segment import Cause


def exchanged(
    locks: Locks,
    lease: Lease,
    mended: Mapping[str, Mending],
    pools: Mapping[str, str],
    moves: Sequence[Move],
    why: tuple[Cause, LeaseNews],
) -> Decision:
    """Return what healing or a swap changes for the reservations of a lease, by their ids, and why.

    `pools` are the pools of the reservations, by id, and `moves` those of the leases that make room for it. The flags
    change as the mendings say.
    """
    cause, news = why
    parts = {part.id: part for part in lease.reservations}
    writes: list[Write] = [partial(write_moves, moves)] if moves else []
    writes += [
        partial(_exchange, lease, parts[ident], mending, pools[ident], cause)
        for ident, mending in mended.items()
        if mending.moves
    ]
    after = with_flags(lease, {ident: each.flags for ident, each in mended.items()})
    if not writes:
        return Decision(locks=locks, lease=after, before=lease)
    return Decision(
        locks=locks, lease=after, before=lease, writes=writes, rereads=True, news=[news], due=locks.now, frees=True
    )


def _exchange(lease: Lease, part: Reservation, mending: Mending, pool: str, cause: Cause, locks: Locks) -> None:
    window = part.ending.held(promised_window(lease.begins, lease.window.end, locks.now))
    if mending.lost and mending.started:
        leave_allocations(locks.connection, mending.lost, locks.next(pool), locks.now, cause)
    elif mending.lost:
        end_allocations(locks.connection, mending.lost, locks.next(pool), locks.now, cause, released=True, left=True)
    change = AllocationChange(locks, pool, cause, lease.id, part.id, window)
    change.write((*mending.dropped, *mending.back), mending.fresh, mending.rest)
