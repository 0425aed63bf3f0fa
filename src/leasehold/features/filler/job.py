"""The job of fillers: one manager at a time gives them their hosts, and ends them in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.filler.options import FillerSettings
from leasehold.features.filler.rounds import Rounds
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

FILLER_LOCK = "filler"


def jobs(service: Service) -> Sequence[Job]:
    """Look at the hosts of fillers every `[filler] every_seconds`, also where nobody gets one any more."""
    every = service.settings.of(FillerSettings).every.total_seconds()
    return [Job("filler", every, Rounds(service).run, Turn.of_one_round(service, FILLER_LOCK, every))]
