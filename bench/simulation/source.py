"""Where the month comes from: the trace of a real machine if there is one, otherwise a generated trace like it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.replay import ACKNOWLEDGED, DAY, asked_in_hosts, leases_of
from bench.simulation.plan import plan
from bench.swf import read_trace
from bench.workload import generate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.simulation.plan import Wish
    from bench.swf import Job

DAYS: Final = 30
HOSTS: Final = 144
JOBS: Final = 5_500
"""How many jobs a generated month has, about as many as the real one."""
BESIDE: Final = Path(__file__).parents[3] / "shared" / "traces" / "sdsc-blue-30d.swf"
"""The log that is kept beside the project, because it may not be part of it."""


@dataclass(frozen=True, slots=True)
class Source:
    """Jobs of a machine of `hosts` hosts, and what they are called in reports."""

    name: str
    jobs: Sequence[Job]
    hosts: int

    def wishes(self, seed: int, loose: float = 0.0) -> Iterator[Wish]:
        """Yield what the people of these jobs ask for; a share of `loose` is flexible, of those who may be."""
        asks, _left_out = leases_of(self.jobs, in_hosts=asked_in_hosts(self.jobs))
        ran = {job.job: job.ran for job in self.jobs}
        # The replay books each job a day ahead; here the request comes when the job was submitted.
        return plan(((replace(ask, start=ask.start - DAY), ran[ask.job]) for ask in asks), seed, loose)


def month(path: Path | None = None) -> Source:
    """Return the trace of a path, of `LEASEHOLD_TRACE`, or the one beside the project; a generated one without any.

    Raises TraceError for a file that cannot be read.
    """
    named = path or (Path(found) if (found := os.environ.get("LEASEHOLD_TRACE")) else None)
    if named is None and not BESIDE.exists():
        return generated(seed=1, jobs=JOBS, hosts=HOSTS, days=DAYS)
    chosen = named or BESIDE
    thanks = [text for key, text in ACKNOWLEDGED.items() if key in chosen.name.lower()]
    return Source("; ".join([chosen.name, *thanks]), read_trace(chosen), HOSTS)


def generated(*, seed: int, jobs: int, hosts: int, days: float) -> Source:
    """Return a generated trace."""
    return Source(f"a generated trace, seed {seed}", generate(seed, jobs, hosts=hosts, days=days), hosts)
