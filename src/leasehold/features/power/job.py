"""The job of sleeping hosts: one manager at a time switches machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.power.options import PowerSettings
from leasehold.features.power.rounds import Rounds, tell_sleepers
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

POWER_LOCK = "power"
SILENT = 60.0
"""Seconds between two complaints that nothing switches the machines that sleep."""


def jobs(service: Service) -> Sequence[Job]:
    """Switch machines every `[power] every_seconds`, if there are classes of them."""
    settings = service.settings.of(PowerSettings)
    if not settings.classes:
        return [Job("power", SILENT, lambda _: tell_sleepers(service))]
    rounds, every = Rounds(service), settings.every.total_seconds()
    return [Job("power", every, rounds.run, Turn.of_one_round(service, POWER_LOCK, every))]
