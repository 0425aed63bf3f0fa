"""The job of sleeping hosts: one manager at a time switches machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.power.options import PowerSettings
from leasehold.features.power.rounds import Rounds, mind_sleepers
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

POWER_LOCK = "power"


def jobs(service: Service) -> Sequence[Job]:
    """Switch machines every `[power] every_seconds`; without classes of them only those matter that sleep already."""
    settings = service.settings.of(PowerSettings)
    every = settings.every.total_seconds()
    if not settings.classes:
        return [Job("power", every, lambda _: mind_sleepers(service))]
    rounds = Rounds(service)
    return [Job("power", every, rounds.run, Turn.of_one_round(service, POWER_LOCK, every))]
