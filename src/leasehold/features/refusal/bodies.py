"""Formats of counts of refused requests, from 1.3 on."""

from __future__ import annotations

from typing_extensions import TypedDict

from leasehold.api.models.base import answer


class RefusalCountAnswer(TypedDict):
    """How many requests were refused in one hour for one reason, by how many projects.

    `resource_type` is null where no resource was short. `missing` is how many more hosts, instances or addresses would
    have been enough for each of these requests by itself; 0 where none would have helped; 1000 stands for more as well.
    """

    hour: str
    operation: str
    code: str
    resource_type: str | None
    missing: int
    refused: int
    projects: int


RefusalList = answer("RefusalList", "The answer about refused requests.", refusals=list[RefusalCountAnswer])
