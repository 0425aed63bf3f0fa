"""The interface of an enforcement filter, and the chain of the enabled filters."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from leasehold.enforcement.amount import MaxLeaseSizeFilter
from leasehold.enforcement.duration import MaxLeaseDurationFilter
from leasehold.enforcement.lookahead import MaxLookaheadFilter
from leasehold.enforcement.project import ProjectLimitsFilter
from leasehold.model.errors import AmendmentDeniedError, LeaseholdError, LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.conf.settings import LeaseSettings
    from leasehold.enforcement.deciding import Deciding
    from leasehold.model.lease import Lease

LOG = logging.getLogger(__name__)


class UnknownFilterError(Exception):
    """The configuration names a filter that does not exist, so the service refuses to start."""


class Filter(Protocol):
    """One rule about leases; it raises LimitExceededError or InvalidInputError to refuse."""

    @property
    def limits(self) -> bool:
        """Whether any limit of this filter is configured."""

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Check a lease that is about to be made."""

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Check a lease that is about to become `proposed`."""


FILTERS: dict[str, Callable[[LeaseSettings], Filter]] = {
    each.__name__: each
    for each in (MaxLeaseDurationFilter, MaxLookaheadFilter, MaxLeaseSizeFilter, ProjectLimitsFilter)
}
"""Every filter by its name in the configuration."""
ALWAYS = (MaxLeaseSizeFilter.__name__, ProjectLimitsFilter.__name__)
"""Filters that are always on, so that one project cannot stop all others. A limit of -1 means no limit."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """The filters in the order of the configuration; the first refusal counts.

    They run inside the transaction that decides, so that what they counted is still true when it commits. `size` also
    runs before that transaction.
    """

    filters: Sequence[Filter] = ()
    exempt_projects: frozenset[str] = frozenset()
    size: MaxLeaseSizeFilter | None = None

    def check_count(self, project_id: str, count: int) -> None:
        """Raise TooMuchAskedError if one lease of the project may not have this many reservations."""
        if self.size is not None and project_id not in self.exempt_projects:
            self.size.check_count(count)

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Run every filter on a new lease."""
        for rule in self._for(lease):
            rule.check_create(lease, deciding)

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Run every filter on an amendment; raises AmendmentDeniedError for a limit that is exceeded."""
        for rule in self._for(lease):
            try:
                rule.check_update(lease, proposed, deciding)
            except LimitExceededError as error:
                raise AmendmentDeniedError(error) from None

    def would_create(self, lease: Lease, deciding: Deciding) -> bool:
        """Say whether a new lease would pass every filter."""
        return _passes(partial(self.check_create, lease, deciding))

    def would_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> bool:
        """Say whether an amendment would pass every filter."""
        return _passes(partial(self.check_update, lease, proposed, deciding))

    def _for(self, lease: Lease) -> Sequence[Filter]:
        return () if lease.project_id in self.exempt_projects else self.filters


def _passes(check: Callable[[], None]) -> bool:
    try:
        check()
    except LeaseholdError:
        return False
    return True


def load_filters(settings: LeaseSettings) -> Enforcement:
    """Return the chain of `[enforcement] enabled_filters`; raises UnknownFilterError.

    Logs a warning for each filter that is off and has limits, because these have no effect.
    """
    named = settings.enforcement_filters
    wanted = (*named, *(name for name in ALWAYS if name not in named))
    unknown = sorted(set(wanted) - set(FILTERS))
    if unknown:
        message = f"Unknown enforcement filters: {', '.join(unknown)}; these exist: {', '.join(sorted(FILTERS))}."
        raise UnknownFilterError(message)
    for name, make in FILTERS.items():
        if name not in wanted and make(settings).limits:
            LOG.warning("The limits of %s have no effect: add it to [enforcement] enabled_filters.", name)
    filters = [FILTERS[name](settings) for name in wanted]
    return Enforcement(filters, settings.limits.exempt_projects, MaxLeaseSizeFilter(settings))
