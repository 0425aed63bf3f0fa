"""Maintenance windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel
from leasehold_client.calls.collection import Collection
from leasehold_client.calls.wire import said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Maintenance(AnswerModel):
    """Hosts that nobody gets over `[start, end)`, aware and in UTC; `moved` and `warned` are ids of leases."""

    id: str
    name: str
    start: datetime
    end: datetime
    status: str
    hosts: tuple[str, ...]
    moved: tuple[str, ...]
    warned: tuple[str, ...]
    values: Mapping[str, Any]


class Maintenances(Collection[Maintenance]):
    """All maintenance windows; by default only administrators see and make them."""

    PATH, ONE, MANY, NOUN = "/maintenances", "maintenance", "maintenances", "maintenance window"
    THING = Maintenance

    def create(
        self, name: str, host_ids: Sequence[str], start: datetime, end: datetime, on_conflict: str | None = None
    ) -> Maintenance:
        """Promise these hosts to nobody else; `on_conflict` says what becomes of leases that have them."""
        return self._create(
            said(name=name, hosts=list(host_ids), start_date=start, end_date=end, on_conflict=on_conflict)
        )
