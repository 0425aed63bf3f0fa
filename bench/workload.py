"""Generates a trace with the properties of real ones: busy days and quiet nights, runtimes that span orders of
magnitude, sizes that are mostly powers of two, and some users who submit far more than others.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Final

from bench.swf import UNKNOWN, Job

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR: Final = 3600
DAY: Final = 24 * HOUR
BUSIEST_HOUR: Final = 14
LIMITS: Final = (300, 900, 1800, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 18 * HOUR)
"""The runtimes that users ask for: the next round figure above the expected runtime."""
TOO_LARGE_EVERY: Final = 150
"""One job in this many asks for more than the whole machine."""
NO_LIMIT_EVERY: Final = 40
"""One job in this many names no runtime."""


def generate(seed: int, jobs: int, *, hosts: int, processors: int = 8, days: float = 3.0) -> list[Job]:
    """Return `jobs` jobs for a machine of this size; the same seed gives the same jobs."""
    rng = random.Random(seed)
    return [
        _job(rng, number, submitted, hosts, processors)
        for number, submitted in enumerate(_arrivals(rng, jobs, days), start=1)
    ]


def _arrivals(rng: random.Random, jobs: int, days: float) -> Iterator[int]:
    """Yield submit times: a Poisson process, thinned so that nights have a quarter of the day's arrivals."""
    moment, found = 0.0, 0
    pace = jobs / (days * DAY) / 0.625
    while found < jobs:
        moment += rng.expovariate(pace)
        hour = moment % DAY / HOUR
        if rng.random() < 0.625 + 0.375 * math.cos((hour - BUSIEST_HOUR) / 24 * math.tau):
            found += 1
            yield int(moment)


def _job(rng: random.Random, number: int, submitted: int, hosts: int, processors: int) -> Job:
    ran = max(1, int(rng.lognormvariate(math.log(HOUR / 2), 1.8)))
    limit = next((limit for limit in LIMITS if limit >= ran), LIMITS[-1])
    size = _size(rng, hosts)
    if number % TOO_LARGE_EVERY == 0:
        size = hosts + 1
    return Job(
        job=number,
        submitted=submitted,
        ran=min(ran, limit),
        used=size * processors,
        asked=UNKNOWN if number % 10 == 0 else size * processors,
        time_asked=UNKNOWN if number % NO_LIMIT_EVERY == 0 else limit,
        user=1 + min(int(rng.paretovariate(1.2)), 40),
    )


def _size(rng: random.Random, hosts: int) -> int:
    """Return a number of hosts: powers of two, small ones more often, and now and then any number."""
    if rng.random() < 0.15:
        return rng.randint(1, hosts)
    largest = int(math.log2(hosts))
    return int(2 ** min(largest, int(rng.expovariate(0.6))))
