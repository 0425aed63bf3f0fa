"""The job of flexible leases: one manager at a time moves them to better places."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.features.flexible.moving import move_all
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

FLEXIBLE_LOCK = "flexible"


def jobs(service: Service) -> Sequence[Job]:
    """Look for better places every `[flexible] every_seconds`."""
    every = service.settings.of(FlexibleSettings).every.total_seconds()
    return [Job("flexible", every, partial(move_all, service), Turn.of_one_round(service, FLEXIBLE_LOCK, every))]
