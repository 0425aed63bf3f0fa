"""The job of planned capacity: one manager at a time compares it with what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.planned_capacity.options import CapacitySettings
from leasehold.features.planned_capacity.use import keep_up
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

CAPACITY_LOCK = "capacity"


def jobs(service: Service) -> Sequence[Job]:
    """Compare every `[manager] capacity_seconds`."""
    every = service.settings.of(CapacitySettings).capacity_seconds
    turn = Turn.of_one_round(service, CAPACITY_LOCK, every)
    return [Job("capacity", every, lambda _: keep_up(service), turn)]
