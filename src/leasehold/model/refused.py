"""Requests for leases that were refused, as they are counted for operators (decision 0105)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from leasehold.model.errors import NotEnoughError

if TYPE_CHECKING:
    from leasehold.model.errors import LimitExceededError

MOST_MISSING = 1_000
"""What is missing beyond this counts as this, so that the counts of an hour are few whatever is asked for."""


class Operation(StrEnum):
    """What was asked for when a request was refused."""

    CREATE = "create"
    AMEND = "amend"
    SWAP = "swap"
    OFFER = "offer"
    MAINTENANCE = "maintenance"


@dataclass(frozen=True, slots=True, order=True)
class Refused:
    """Why a request of a project was refused.

    `resource_type` is empty where no resource was short. `missing` is how many more of it, free in the window that was
    asked for, would have been enough for this request: hosts, instances or addresses; 0 where none would have helped.
    """

    project_id: str
    operation: Operation
    code: str
    resource_type: str
    missing: int

    @classmethod
    def by(cls, error: NotEnoughError | LimitExceededError, operation: Operation, project_id: str) -> Self:
        """Return what the error says."""
        if not isinstance(error, NotEnoughError):
            return cls(project_id, operation, error.code, "", 0)
        found = error.refusal
        missing = min(max(found.asked - found.largest, 0), MOST_MISSING)
        return cls(project_id, operation, error.code, found.resource_type, missing)
