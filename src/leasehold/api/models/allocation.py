"""Formats of allocations (contract http-api §6.1)."""

from __future__ import annotations

from typing_extensions import TypedDict

from leasehold.api.models.base import answer


class ReservedAnswer(TypedDict):
    """One slot of a host that is allocated to a reservation; `id` is the reservation's."""

    id: str
    lease_id: str
    start_date: str
    end_date: str


class AllocationAnswer(TypedDict):
    """The allocations of one host."""

    resource_id: str
    reservations: list[ReservedAnswer]


OneAllocation = answer("OneAllocation", "The answer about one host.", allocation=AllocationAnswer)
AllocationList = answer("AllocationList", "The answer about all hosts.", allocations=list[AllocationAnswer])
