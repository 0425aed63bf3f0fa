"""Fillers: hosts by where they are, what did not end in time, and how many leases started late because of that."""

from __future__ import annotations

from collections import Counter as Count
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge

from leasehold.features.filler.model import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

HOSTS = Gauge("leasehold_filler_hosts", "Hosts that fillers have, by state.", ["state"])
TOLD = Counter("leasehold_filler_told", "Hosts of fillers whose projects were told that they have to go.")
OVERDUE = Counter("leasehold_filler_overdue", "Hosts that were given up because servers of a filler did not end.")
LATE = Counter("leasehold_filler_late_starts", "Leases that started late because a host of a filler was not empty.")


def show_hosts(stages: Iterable[Stage]) -> None:
    """Show how many hosts are where."""
    found = Count(stages)
    for stage in Stage:
        if stage is not Stage.ENDED:
            HOSTS.labels(stage).set(found[stage])
