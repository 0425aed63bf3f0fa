"""The two pools of hosts: which one a resource is in, and how it gets into the other (feature E3, decision 0056).

Only a resource of the reservation pool is promised to leases. A shared one serves everybody.
"""

from __future__ import annotations

from enum import StrEnum


class Membership(StrEnum):
    """Which pool an enrolled resource is in, or which one it moves to."""

    RESERVATION = "reservation"
    SHARED = "shared"
    DRAWING = "drawing"
    """On its way into the reservation pool: it is emptied, and is not promised yet."""
    GIVING_BACK = "giving_back"
    """On its way to the shared ones: it is promised no more, and nothing is promised on it."""

    @property
    def moves(self) -> bool:
        """Say whether the resource's task has to bring it into a pool."""
        return self in (Membership.DRAWING, Membership.GIVING_BACK)


LONGEST_REASON = 500
"""In characters."""

_MOVES = {
    (Membership.SHARED, Membership.RESERVATION): Membership.DRAWING,
    (Membership.GIVING_BACK, Membership.RESERVATION): Membership.DRAWING,
    (Membership.RESERVATION, Membership.SHARED): Membership.GIVING_BACK,
    (Membership.DRAWING, Membership.SHARED): Membership.GIVING_BACK,
}


def on_request(present: Membership, wanted: Membership) -> Membership:
    """Return what a resource becomes when somebody wants it in a pool; a request that is fulfilled changes nothing."""
    return _MOVES.get((present, wanted), present)
