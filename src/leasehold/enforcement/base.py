"""What an enforcement filter is, and the chain of those that are switched on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from leasehold.enforcement.duration import MaxLeaseDurationFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.conf.settings import LeaseSettings
    from leasehold.model.lease import Lease


class UnknownFilterError(Exception):
    """The configuration names a filter that does not exist, so the service refuses to start."""


class Filter(Protocol):
    """One rule about leases; it raises LimitExceededError or InvalidInputError to refuse."""

    def check_create(self, lease: Lease) -> None:
        """Look at a lease that is about to be made."""

    def check_update(self, lease: Lease, proposed: Lease) -> None:
        """Look at a lease that is about to become `proposed`."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """The filters in the order of the configuration; the first refusal counts."""

    filters: Sequence[Filter] = ()

    def check_create(self, lease: Lease) -> None:
        """Ask every filter about a new lease."""
        for rule in self.filters:
            rule.check_create(lease)

    def check_update(self, lease: Lease, proposed: Lease) -> None:
        """Ask every filter about an amendment."""
        for rule in self.filters:
            rule.check_update(lease, proposed)


def load_filters(settings: LeaseSettings) -> Enforcement:
    """Return the chain of `[enforcement] enabled_filters`; raises UnknownFilterError."""
    known = {"MaxLeaseDurationFilter": MaxLeaseDurationFilter}
    unknown = sorted(set(settings.enforcement_filters) - set(known))
    if unknown:
        message = f"Unknown enforcement filters: {', '.join(unknown)}; these exist: {', '.join(sorted(known))}."
        raise UnknownFilterError(message)
    return Enforcement([known[name](settings) for name in settings.enforcement_filters])
