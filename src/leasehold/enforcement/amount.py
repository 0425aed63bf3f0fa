"""How much one lease may ask for (feature H4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.errors import TooMuchAskedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.conf.settings import LeaseSettings
    from leasehold.enforcement.deciding import Deciding
    from leasehold.model.lease import Lease


class MaxLeaseSizeFilter:
    """Refuses leases with more reservations, or with more of one resource type, than a lease may have.

    An amendment is refused only where it asks for more than the lease had.
    """

    def __init__(self, settings: LeaseSettings) -> None:
        self._reservations = settings.limits.reservations
        self._amounts = settings.limits.amounts

    @property
    def limits(self) -> bool:
        """Whether any size is limited."""
        return self._reservations is not None or bool(self._amounts)

    def check_count(self, count: int) -> None:
        """Raise TooMuchAskedError if one lease may not have this many reservations, before any other check of them."""
        if self._reservations is not None and count > self._reservations:
            raise _refusal("reservations", count, self._reservations)

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Raise TooMuchAskedError for a new lease that is too large."""
        self.check_count(len(lease.reservations))
        self._check_amounts(_amounts(lease, deciding), {}, deciding)

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Raise TooMuchAskedError for a lease that becomes too large."""
        self._check_amounts(_amounts(proposed, deciding), _amounts(lease, deciding), deciding)

    def _check_amounts(self, asked: Mapping[str, int], before: Mapping[str, int], deciding: Deciding) -> None:
        for kind, most in self._amounts.items():
            amount = asked.get(kind, 0)
            if amount > max(most, before.get(kind, 0)):
                raise _refusal(deciding.types.noun(kind), amount, most)


def _amounts(lease: Lease, deciding: Deciding) -> dict[str, int]:
    """Return by type how much the lease may get."""
    found: dict[str, int] = {}
    for part in lease.kept:
        found[part.resource_type] = found.get(part.resource_type, 0) + deciding.types.amount(part)
    return found


def _refusal(what: str, asked: int, most: int) -> TooMuchAskedError:
    message = (
        f"The lease asks for {asked} {what}, and one lease may have {most}. "
        "Ask for less, make several leases, or ask an administrator."
    )
    return TooMuchAskedError(message, field="reservations", details={"limit": most, "asked": asked, "what": what})
