"""How many requests were refused, and why, for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import read_time, write_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class RefusalCount:
    """Refusals of an hour for one reason; `missing` is how many more of the type would have been enough for each."""

    hour: datetime
    operation: str
    code: str
    resource_type: str | None
    missing: int
    refused: int
    projects: int


class Refusals(Calls):
    """Counts of refused requests of all projects; by default for administrators."""

    def list(self, start: datetime, end: datetime) -> Sequence[RefusalCount]:
        """Return the counts of the hours that begin in [start, end), oldest first."""
        answer = self._transport.get("/refusals", {"from": write_time(start), "to": write_time(end)})
        return [RefusalCount(**{**each, "hour": read_time(each["hour"])}) for each in answer["refusals"]]
