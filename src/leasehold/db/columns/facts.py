"""The column `cloud` of reservations: what the cloud has said, and the few things that an owner has decided.

The model has a field for each of these. Most reservations have none of them, so they have no columns of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.reservation import Reservation

DROPPED: Final = "dropped"
SHARES: Final = "shares"


def written_facts(part: Reservation) -> dict[str, Any]:
    """Return the value of the column."""
    decided = {DROPPED: part.dropped, SHARES: dict(part.shares)}
    return {**part.cloud, **{name: value for name, value in decided.items() if value}}


def read_facts(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a reservation that `written_facts` wrote: `dropped`, `shares` and `cloud`."""
    rest = dict(value)
    return {"dropped": rest.pop(DROPPED, False), "shares": rest.pop(SHARES, {}), "cloud": rest}
