"""The interface of an enforcement filter, and the chain of the enabled filters."""

from __future__ import annotations

import logging
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from leasehold.enforcement.external import NAME as EXTERNAL
from leasehold.enforcement.external import ExternalCall, ExternalService
from leasehold.enforcement.lease import MaxLeaseDurationFilter, MaxLeaseSizeFilter, MaxLookaheadFilter
from leasehold.enforcement.project import ProjectLimitsFilter
from leasehold.enforcement.stacking import StackingFilter
from leasehold.model.errors import AmendmentDeniedError, LeaseholdError, LimitExceededError, NotKnownNowError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from leasehold.conf.settings import LeaseSettings
    from leasehold.enforcement.deciding import Amounts, Deciding
    from leasehold.enforcement.given import Given
    from leasehold.enforcement.outside import Outside
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
    for each in (MaxLeaseDurationFilter, MaxLookaheadFilter, MaxLeaseSizeFilter, ProjectLimitsFilter, StackingFilter)
}
"""Every filter by its name in the configuration."""
ALWAYS = (MaxLeaseSizeFilter.__name__, ProjectLimitsFilter.__name__, StackingFilter.__name__)
"""Filters that are always on, so that one project cannot stop all others. A limit of -1 means no limit."""


@dataclass(frozen=True, slots=True)
class Added:
    """What a feature adds to enforcement: what it reads `outside`, and what it makes of that.

    `given` returns the limits of a project that hold in place of the configured ones. `rule` is one more filter.
    `warnings` returns errors of a lease that is granted all the same.
    """

    outside: Outside[Any]
    given: Callable[[str], Given] | None = None
    rule: Filter | None = None
    warnings: Callable[[Lease, Amounts], Sequence[LeaseholdError]] | None = None


@dataclass(frozen=True, slots=True)
class Enforcement:
    """The filters in the order of the configuration; the first refusal counts.

    They run inside the transaction that decides, so that what they counted is still true when it commits. `size` also
    runs before that transaction. What is `added` is read outside of any transaction, inside `around()`; and so is the
    `external` service asked, after the filters.
    """

    filters: Sequence[Filter] = ()
    exempt_projects: frozenset[str] = frozenset()
    size: MaxLeaseSizeFilter | None = None
    external: ExternalService | None = None
    around: Callable[[], AbstractContextManager[None]] = nullcontext
    added: Sequence[Added] = ()

    def look_outside(self, project_id: str) -> None:
        """Read what the decision about a lease of the project needs from other services and is not known yet.

        No transaction is open meanwhile. Raises what `around` raises; what cannot be read, the decision says.
        """
        for each in () if project_id in self.exempt_projects else self.added:
            if each.outside.due(project_id):
                with self.around():
                    each.outside.look(project_id)

    def warnings(self, lease: Lease, types: Amounts) -> list[LeaseholdError]:
        """Return what the owner of a lease should know of what it asks for, without a look anywhere else."""
        found: list[LeaseholdError] = []
        for each in self.added:
            if each.warnings is not None and self._for(lease):
                with suppress(NotKnownNowError):
                    found += each.warnings(lease, types)
        return found

    def check_count(self, project_id: str, count: int) -> None:
        """Raise TooMuchAskedError if one lease of the project may not have this many reservations."""
        if self.size is not None and project_id not in self.exempt_projects:
            self.size.check_count(count)

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Run every filter on a new lease."""
        deciding = self._given(deciding)
        for rule in self._for(lease):
            rule.check_create(lease, deciding)

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Run every filter on an amendment; raises AmendmentDeniedError for a limit that is exceeded."""
        deciding = self._given(deciding)
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

    def asks(self, call: ExternalCall, project_id: str) -> bool:
        """Say whether the external service takes this call about leases of the project."""
        return self.external is not None and self.external.takes(call) and project_id not in self.exempt_projects

    def ask(self, call: ExternalCall, body: Mapping[str, Any]) -> None:
        """Return if the external service approves; raises ExternallyDeniedError and NoDecisionError."""
        if self.external is not None:
            with self.around():
                self.external.check(call, body)

    def _given(self, deciding: Deciding) -> Deciding:
        given = next((each.given for each in self.added if each.given), None)
        return deciding if given is None else replace(deciding, given=given)

    def _for(self, lease: Lease) -> Sequence[Filter]:
        # A maintenance window is not limited: only administrators make and change one.
        free = lease.is_maintenance or lease.project_id in self.exempt_projects
        return () if free else self.filters


def _passes(check: Callable[[], None]) -> bool:
    try:
        check()
    except LeaseholdError:
        return False
    return True


def _warn_of_unused(settings: LeaseSettings, wanted: Collection[str]) -> None:
    for name, make in FILTERS.items():
        if name not in wanted and make(settings).limits:
            LOG.warning("The limits of %s have no effect: add it to [enforcement] enabled_filters.", name)
    if EXTERNAL not in wanted and settings.external.named:
        LOG.warning("No external service is asked: add %s to [enforcement] enabled_filters.", EXTERNAL)


def load_filters(settings: LeaseSettings, added: Sequence[Added] = ()) -> Enforcement:
    """Return the chain of `[enforcement] enabled_filters`, and then those that features have `added`.

    Raises UnknownFilterError and ConfigurationError.

    Logs a warning for each filter that is off and has limits, because these have no effect.
    """
    named = settings.enforcement_filters
    wanted = (*named, *(name for name in ALWAYS if name not in named))
    unknown = sorted(set(wanted) - set(FILTERS) - {EXTERNAL})
    if unknown:
        known = ", ".join(sorted((*FILTERS, EXTERNAL)))
        message = f"Unknown enforcement filters: {', '.join(unknown)}; these exist: {known}."
        raise UnknownFilterError(message)
    _warn_of_unused(settings, wanted)
    filters = [FILTERS[name](settings) for name in wanted if name != EXTERNAL]
    filters += [each.rule for each in added if each.rule is not None]
    external = ExternalService(settings.external) if EXTERNAL in wanted else None
    return Enforcement(filters, settings.limits.exempt_projects, MaxLeaseSizeFilter(settings), external, added=added)
