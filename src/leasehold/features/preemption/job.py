"""The job of preemptible servers: one manager at a time tells their owners that a lease starts soon."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from leasehold.features.preemption.options import PreemptionSettings
from leasehold.features.preemption.use import warn_preemptibles
from leasehold.leasing.turn import Job, Turn
from leasehold.resource_types.displacement import open_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

PREEMPTION_LOCK = "preemption"
PART = 10
"""A look comes so often in each grace period."""
SHORTEST, LONGEST = 1.0, 60.0
"""Seconds between two looks, at least and at most."""


def jobs(service: Service) -> Sequence[Job]:
    """Look for leases that start soon ten times in each grace period, and every minute in long ones.

    Without a grace period, open the hosts that were closed while there was one.
    """
    expected = service.settings.cloud.expect_preemptibles
    grace = service.settings.of(PreemptionSettings).grace.total_seconds() if expected else 0.0
    if not grace:
        # What has failed is not kept, so it is tried again; after that nothing is left to do.
        opened = cache(partial(open_all, service.cloud))
        return [Job("preemption", LONGEST, lambda _: opened())]
    every = min(max(grace / PART, SHORTEST), LONGEST)
    turn = Turn.of_one_round(service, PREEMPTION_LOCK, every)
    return [Job("preemption", every, lambda _: warn_preemptibles(service), turn)]
