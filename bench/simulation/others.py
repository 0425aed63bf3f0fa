"""Those who lease nothing: their servers run on the shared hosts, and are moved away when such a host is drawn.

Their preemptible servers run on hosts of the reservation pool between leases, and are ended for these.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from bench.simulation.site import Site

HOUR: Final = 3600.0
PER_HOST: Final = 2
"""How many servers there are for each shared host, on average."""
SPOTS: Final = 3
"""How many preemptible ones are booted for each of them."""
LIVES: Final = 12 * HOUR
SPOT: Final = "spot"
SLOWEST_MOVE: Final = 120.0


@dataclass
class Others:
    """The servers without a lease that are booted until `until`; `booted` counts them by the status that they got."""

    site: Site
    rng: random.Random
    until: datetime
    booted: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        """Boot the first servers, and note the next one in the agenda."""
        for _ in range(PER_HOST * self.site.shared):
            self._boot()
        if self.site.shared:
            self._later()

    def _later(self) -> None:
        pause = timedelta(seconds=round(self.rng.expovariate(PER_HOST * self.site.shared / LIVES)))
        if self.site.now() + pause < self.until:
            self.site.agenda.at(self.site.now() + pause, self._next)

    def _next(self) -> None:
        self._later()
        self._boot()

    def _boot(self) -> None:
        """Boot servers that live for some hours; the cloud takes another time to move servers from now on."""
        servers = self.site.world.cloud.servers
        servers.take_to("migrate", self.rng.uniform(0, SLOWEST_MOVE))
        for name in ("web", *[SPOT] * SPOTS):
            server = servers.boot(name, "common", "m1.small", preemptible=name == SPOT)
            self.booted[f"{name}: {server.status}"] += 1
            gone = self.site.now() + timedelta(seconds=round(self.rng.expovariate(1 / LIVES)))
            self.site.agenda.at(gone, partial(servers.delete, server.id))


def others_of(site: Site, seed: int, until: datetime) -> Others:
    """Return those who lease nothing, by the seed."""
    return Others(site, random.Random(f"others-{seed}"), until)
