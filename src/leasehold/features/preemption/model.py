"""Preemptible servers that will be ended because a lease starts: what their projects are told (feature K1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Preemption:
    """A server, its project, and when it will be ended. Whose lease that is for, nobody is told."""

    server_id: str
    server_name: str
    project_id: str
    ends_at: datetime

    def payload(self) -> dict[str, str]:
        """Return the payload of its events; it names no lease and no host, which the project must not learn."""
        return {**asdict(self), "ends_at": self.ends_at.isoformat()}
