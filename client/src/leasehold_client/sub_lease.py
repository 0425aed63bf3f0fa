"""Sub-leases: hosts of a lease that are lent to another project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.wire import read_time

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class SubLease:
    """Hosts that are lent to a project, as their lender sees it; dates are aware and in UTC."""

    id: str
    project_id: str
    start: datetime
    end: datetime
    status: str
    amount: int
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> SubLease:
        """Return the sub-lease of an answer."""
        return cls(
            id=values["id"],
            project_id=values["project_id"],
            start=read_time(values["start_date"]),
            end=read_time(values["end_date"]),
            status=values["status"],
            amount=values["amount"],
            values=values,
        )
