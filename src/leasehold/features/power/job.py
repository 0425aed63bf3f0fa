"""The job of sleeping hosts: one manager at a time switches machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.power.options import PowerSettings
from leasehold.features.power.rounds import Rounds
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

POWER_LOCK = "power"


def jobs(service: Service) -> Sequence[Job]:
    """Switch machines every `[power] every_seconds`, if there are classes of them."""
    settings = service.settings.of(PowerSettings)
    if not settings.classes:
        return []
    rounds, every = Rounds(service), settings.every.total_seconds()
    return [Job("power", every, rounds.run, Turn.of_one_round(service, POWER_LOCK, every))]
