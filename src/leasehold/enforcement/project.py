"""How much a project may use at a time: open leases, hosts, vCPUs, memory and floating IPs (feature H4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from leasehold.db.project import peak, total
from leasehold.enforcement.given import CONFIGURED
from leasehold.model.errors import TooManyLeasesError, TooMuchHeldError
from leasehold.model.use import MOST, NAMES, NO_LIMIT, Use

if TYPE_CHECKING:
    from leasehold.conf.settings import LeaseSettings
    from leasehold.enforcement.deciding import Deciding
    from leasehold.enforcement.given import Given
    from leasehold.model.lease import Lease

FEW: Final = 1_000
"""With more open leases, what they have in all windows together is not counted: no upper bound of it would decide."""
LEASES: Final = "leases"
_WORDS = {"hosts": "hosts", "vcpus": "vCPUs", "memory_mb": "MiB of memory", "floating_ips": "floating IPs"}


class ProjectLimitsFilter:
    """Refuses what would give a project more open leases, or more of any resource at one moment, than it may have.

    A lease is open if it is neither over nor deleted. Hosts count by the `max` of a request until it is granted, and
    then by the number allocated. Requests of one project are decided one after the other, so two at the same moment
    cannot both get the last that is allowed; they wait for each other before they lock any pool.
    """

    def __init__(self, settings: LeaseSettings) -> None:
        limits = settings.limits
        self._by_project = limits.open_leases_by_project
        amounts = (limits.open_leases, *(limits.totals.get(name) for name in NAMES[1:]))
        self._most = Use(*(MOST if amount is None else amount for amount in amounts))

    @property
    def limits(self) -> bool:
        """Whether anything is limited."""
        return bool(self._by_project) or self._most != NO_LIMIT

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Raise TooManyLeasesError or TooMuchHeldError for a new lease."""
        # One that waits was counted when it was made.
        asked = replace(_asked(lease, deciding), leases=0 if lease.waits else 1)
        given = deciding.given(lease.project_id)
        most = self._most_of(lease.project_id, given)
        if most == NO_LIMIT:
            return
        most = _of(asked, most)
        if asked.within(most) and deciding.use.take(lease.project_id, asked, most, deciding.now):
            return
        _count(lease, Use(), asked, asked, most, deciding, given)

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Raise TooMuchHeldError for an amendment that asks for more, or for time outside the lease's old window."""
        before, asked = _asked(lease, deciding), _asked(proposed, deciding)
        growth = asked.growth(before)
        inside = lease.counted_window.contains(proposed.counted_window)
        if inside and lease.asked == proposed.asked:
            return
        # What asks for less is never refused, so nobody's answer is needed for it.
        given = CONFIGURED if inside and growth == Use() else deciding.given(lease.project_id)
        most = replace(self._most_of(lease.project_id, given), leases=MOST)
        if most == NO_LIMIT and not deciding.gives:
            return
        most = _of(asked, most)
        if deciding.use.take(lease.project_id, growth, most, deciding.now):
            return
        # Within the old window, only an amount that grows can exceed its limit.
        most = Use(
            *(limit if more or not inside else MOST for limit, more in zip(most.amounts, growth.amounts, strict=True))
        )
        _count(proposed, before, asked, growth, most, deciding, given)

    def _most_of(self, project_id: str, given: Given) -> Use:
        most = self._most
        if project_id in self._by_project:
            most = replace(most, leases=_or_most(self._by_project[project_id]))
        known = {name: _or_most(given.limits[name]) for name in NAMES if name in given.limits}
        return replace(most, **known) if known else most


def _or_most(limit: int | None) -> int:
    return MOST if limit is None else limit


def _count(lease: Lease, before: Use, asked: Use, growth: Use, most: Use, deciding: Deciding, given: Given) -> None:
    """Count what the project's other leases use, raise the error of an exceeded limit, else store the new count.

    Its open leases are counted where their upper bound does not decide. Of the rest, what is allocated in the lease's
    window is enough.
    """
    use, project = deciding.use, lease.project_id
    if not use.take(project, growth, replace(NO_LIMIT, leases=most.leases), deciding.now):
        _count_leases(lease, before, growth, most, deciding, given)
    window = lease.counted_window
    held = peak(use.allocated(project, but=lease.id, window=window), window)
    for name, word in _WORDS.items():
        limit, others_have, wanted = getattr(most, name), getattr(held, name), getattr(asked, name)
        if wanted and others_have + wanted > limit:
            fits = limit - others_have
            message = (
                f"The lease asks for {wanted} {word}, other leases of the project have up to {others_have} then, "
                f"and a project may have {limit}{given.said(name, fits)}. Ask for less or for another time, delete a "
                "lease, or ask an administrator."
            )
            details = {"what": name, "limit": limit, "asked": wanted, "held": others_have}
            details |= given.details(name, fits)
            raise TooMuchHeldError(message, field="reservations", details=details)


def _count_leases(lease: Lease, before: Use, growth: Use, most: Use, deciding: Deciding, given: Given) -> None:
    """Count the open leases of the project, raise the error if they are too many, else store new upper bounds."""
    use, project = deciding.use, lease.project_id
    use.enter(project)
    count = use.open_leases(project)
    if count + growth.leases > most.leases:
        fits = most.leases - count
        message = (
            f"The project has {count} open leases, and it may have {most.leases}{given.said(LEASES, fits)}. "
            "Delete one, wait until one ends, or ask an administrator."
        )
        details = {"limit": most.leases, "open": count, **given.details(LEASES, fits)}
        raise TooManyLeasesError(message, details=details)
    others = total(use.allocated(project, but=lease.id)) if count <= FEW else NO_LIMIT
    use.keep(project, replace(others + before, leases=count), growth, deciding.now)


def _of(asked: Use, most: Use) -> Use:
    """Return the limits on what is asked for: the others cannot be exceeded by it."""
    return Use(*(limit if wanted else MOST for limit, wanted in zip(most.amounts, asked.amounts, strict=True)))


def _asked(lease: Lease, deciding: Deciding) -> Use:
    """Return what the lease may get by its requests."""
    return sum(map(deciding.types.use, lease.kept), Use())
