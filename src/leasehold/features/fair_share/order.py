"""Two orders of leases that wait: by fair share, and by how little is asked for (idea 9).

They order what waits, and nothing else: what was granted stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from leasehold.features.fair_share.model import WHOLE, level
from leasehold.features.fair_share.options import FairShareSettings
from leasehold.features.fair_share.store import asked_by_waiting, uses_of
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.leasing.deciding.waiting_order import OrderGrounds
    from leasehold.model.terms.waiting import AskedPart, WaitingLease

HOUR = 3600


class FairShare:
    """The project comes first that has held the least for its share, in it the user, then who has waited longest."""

    def read(self, grounds: OrderGrounds, leases: Sequence[WaitingLease]) -> ByUse:
        """Return the order by what these projects and users have used; one statement."""
        found = uses_of(grounds.connection, {(each.project_id, each.user_id) for each in leases})
        settings = grounds.settings.of(FairShareSettings)
        moment = max([to_seconds(grounds.now), *(each.at for each in found.values())])
        half_life = settings.half_life.total_seconds()
        return ByUse(settings, {key: use.then(moment, half_life) for key, use in found.items()})


@dataclass(frozen=True, slots=True)
class ByUse:
    """The order by use, in units times seconds, by project and user, as it counts at one moment."""

    settings: FairShareSettings
    uses: Mapping[tuple[str, str], float]

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        """Return them by the levels of their projects and then of their users; those with the same as they are."""
        return sorted(leases, key=lambda each: tuple(-part for part in self.levels(each.project_id, each.user_id)))

    def levels(self, project_id: str, user_id: str) -> tuple[float, float]:
        """Return the level of a project among all, and that of a user in it.

        Users are compared by their part of what their project has used: those of projects with one level are siblings.
        """
        whole, own = self.uses.get((project_id, WHOLE), 0.0), self.uses.get((project_id, user_id), 0.0)
        of_project = level(self.settings.share(project_id), whole)
        return of_project, level(self.settings.share(project_id, user_id), own / whole if own else 0.0)

    def why(self, lease: WaitingLease) -> str:
        """Return the rule, and what the lease's project and user have: their shares and what they have used."""
        settings, project, user = self.settings, lease.project_id, lease.user_id
        whole, own = (self.uses.get((project, each), 0.0) / HOUR for each in (WHOLE, user))
        days = settings.half_life.total_seconds() / (24 * HOUR)
        return (
            "The project that has held the least for its share comes first, and in it the user. Yours has held "
            f"{whole:.1f} hours for a share of {settings.share(project):g}, and who asked for the lease {own:.1f} for "
            f"{settings.share(project, user):g}. What was held {days:g} days ago counts half."
        )


class Borrow:
    """The project with the fewest granted leases comes first, of equal ones the lease that asks for the least."""

    def read(self, grounds: OrderGrounds, leases: Sequence[WaitingLease]) -> BySize:
        """Return the order by what all leases that wait ask for; one statement."""
        asked = {**asked_by_waiting(grounds.connection), **{each.id: each.asks for each in leases if each.asks}}
        return BySize({ident: sum(_size(grounds, part) for part in parts) for ident, parts in asked.items()})


@dataclass(frozen=True, slots=True)
class BySize:
    """The order by size: units times seconds that a lease asks for at most, by lease."""

    sizes: Mapping[str, float]

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        """Return them by the leases of their projects and then by their sizes; those with the same as they are."""
        return sorted(leases, key=lambda each: (each.granted, self.sizes.get(each.id, inf)))

    def why(self, lease: WaitingLease) -> str:
        """Return the rule, and what the lease asks for."""
        return (
            "The project with the fewest granted leases comes first, of equal ones the lease that asks for the least. "
            f"The lease's project has {lease.granted}, and the lease asks for {self.sizes[lease.id] / HOUR:.1f} hours."
        )


def _size(grounds: OrderGrounds, asked: AskedPart) -> float:
    """Return the most units times seconds that are asked for, weighted; none of a type whose plugin cannot be used."""
    found = grounds.types.find(asked.resource_type)
    if found is None:
        return 0.0
    units = found.kind.amount(found.kind.load(asked.request))
    return units * grounds.settings.of(FairShareSettings).weight(asked.resource_type) * asked.lasts.total_seconds()
