"""Sub-leases: hosts of a lease that are lent to another project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class SubLease(AnswerModel):
    """Hosts that are lent to a project, as their lender sees it; dates are aware and in UTC."""

    id: str
    project_id: str
    start: datetime
    end: datetime
    status: str
    amount: int
    values: Mapping[str, Any]
