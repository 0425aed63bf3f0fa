"""Preemptible servers that will be ended because a lease starts: what their projects are told (feature K1)."""

from __future__ import annotations

from dataclasses import dataclass
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
