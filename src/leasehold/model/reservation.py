"""Reservations: one resource type asked for in a lease."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leasehold.model.states import ReservationStatus
from leasehold.model.terms.ending import DELETED_AT_ONCE, Ending

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime

    from leasehold.model.allocation import Allocation
    from leasehold.model.terms.default_properties import DefaultProperties
    from leasehold.model.terms.no_show import NoShow


def open_to(shares: Mapping[str, bool | None]) -> list[str]:
    """Return the other projects that may use a reservation with these shares."""
    return sorted(project for project, may in shares.items() if may)


@dataclass(frozen=True, slots=True)
class Reservation:
    """One part of a lease.

    `request` is what was asked, as the typed JSON of its resource type. `cloud` keeps ids that the cloud returned
    (`aggregate_id`, `server_group_id`), to show them and to remove objects known only by id; converging never relies
    on them.

    `missing` is how much of what was promised has no allocation any more, in the request's unit; None while
    `missing_resources` is set means that it is not known. It counts only while the flag is set. `ending` says what
    happens to its servers when the lease ends, `no_show` when what it does not use is released; None means never.
    `default_properties` are what operators prefer for it, because it names no properties itself.

    `dropped`: its owner has dropped it while the lease goes on, and never takes it back; its status is DELETED when
    what it had is gone. `shares` are the projects that may use it beside its own: True, or False for one that may no
    longer. The cloud is told of that one twice, and after the first time it is None: a worker that has lost its claim
    while it let the project in may be late.
    """

    id: str
    lease_id: str
    resource_type: str
    resource_id: str
    request: Mapping[str, Any]
    status: ReservationStatus = ReservationStatus.PENDING
    missing_resources: bool = False
    resources_changed: bool = False
    cloud: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    allocations: tuple[Allocation, ...] = ()
    missing: int | None = None
    ending: Ending = DELETED_AT_ONCE
    no_show: NoShow | None = None
    default_properties: DefaultProperties | None = None
    dropped: bool = False
    shares: Mapping[str, bool | None] = field(default_factory=dict)

    @property
    def shared_with(self) -> list[str]:
        """The other projects that may use it."""
        return open_to(self.shares)

    def promised(self, has: int, asked: Callable[[], int]) -> int:
        """Return how much it was promised, which now `has` so much; what it `asked` for, if that is not known."""
        if not self.missing_resources:
            return has
        return max(has, asked()) if self.missing is None else has + self.missing

    def shared(self, projects: Collection[str], *, in_cloud: bool = True) -> Reservation:
        """Return the reservation open to these other projects, and to no others.

        The cloud is to be told of those before, unless it has nothing of the lease (`in_cloud`) or of the reservation.
        """
        told = in_cloud and self.status is not ReservationStatus.DELETED
        before = {project: None if may is None else False for project, may in self.shares.items()} if told else {}
        return replace(self, shares=before | dict.fromkeys(projects, True))

    def told(self, shares: Mapping[str, bool | None]) -> Reservation:
        """Return the reservation after the cloud was told of these; one that may not is forgotten in the end."""
        left: dict[str, bool | None] = {}
        for project, may in self.shares.items():
            if may or project not in shares or shares[project] is not may:
                left[project] = may
            elif may is False:
                left[project] = None
        return replace(self, shares=left)
