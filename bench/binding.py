"""How many more leases of a log fit with late binding than without.

The log is that of the simulated month (`bench.simulation.source`). Each job becomes a lease on
whole hosts that begins between an hour and a week after its submission, drawn with a fixed seed. The service runs in
this process with a clock that follows the submissions, so that leases begin meanwhile, and keep their hosts. Both runs
get the same requests.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Final

from bench.deployment import host_specs
from bench.figures import percentile
from bench.replay import asked_in_hosts, leases_of
from bench.row import Row
from bench.simulation.source import HOSTS, month
from leasehold.cloud.sandbox import seed
from leasehold.conf.settings import LeaseSettings, LimitSettings, Settings
from leasehold.model.errors import NotEnoughError
from leasehold.model.segment import Cause
from tests.factory import hosts, make_service
from tests.harness.tables import read_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.replay import Ask

SEED: Final = 57
LEAD_HOURS: Final = 1, 7 * 24
FREE: Final = LeaseSettings(limits=LimitSettings(open_leases=None, totals={}))


@dataclass(slots=True)
class Played:
    """The results of one run."""

    granted: int = 0
    host_hours: float = 0.0
    moved: int = 0
    seconds: list[float] = field(default_factory=list)


def run(*, quick: bool = False) -> list[Row]:
    """Play the log twice; quick: its first jobs."""
    leases, name = _leases(300 if quick else None)
    late, fixed = _play(leases, FREE), _play(leases, replace(FREE, rebinding_seconds=0.0))
    where = f"{len(leases):,} leases of {name} on {HOSTS} hosts"
    return [
        Row(f"{where}: granted", late.granted, "", None, fixed.granted, "without late binding"),
        Row(f"{where}: host hours granted", late.host_hours, "h", None, fixed.host_hours, "without late binding"),
        Row(f"{where}: allocations moved", late.moved, ""),
        Row(
            f"{where}: a decision, p50",
            1000 * percentile(late.seconds, 50),
            "ms",
            None,
            1000 * percentile(fixed.seconds, 50),
            "without late binding",
        ),
        Row(
            f"{where}: a decision, p99",
            1000 * percentile(late.seconds, 99),
            "ms",
            None,
            1000 * percentile(fixed.seconds, 99),
            "without late binding",
        ),
    ]


def _leases(most: int | None) -> tuple[Sequence[Ask], str]:
    source = month()
    leases, _ = leases_of(source.jobs[:most], in_hosts=asked_in_hosts(source.jobs))
    return leases, source.name.partition(";")[0]


def _play(leases: Sequence[Ask], settings: LeaseSettings) -> Played:
    random, played = Random(SEED), Played()
    with (
        tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder,
        make_service(Path(folder), settings=Settings(leases=settings)) as made,
    ):
        # Time of this processor, so that what is found does not depend on what else the machine does.
        world = replace(made, service=replace(made.service, steady=thread_time))
        seed.add_hosts(world.engine, host_specs(HOSTS))
        world.enrol(*(spec.hypervisor_hostname for spec in host_specs(HOSTS)))
        for ask in leases:
            hours = (ask.start - leases[0].start) / 3600
            world.clock.set(world.hour(hours))
            start = hours + random.uniform(*LEAD_HOURS)
            begun = perf_counter()
            try:
                world.lease(hosts(ask.hosts), start=start, end=start + ask.length / 3600)
            except NotEnoughError:
                pass
            else:
                played.granted += 1
                played.host_hours += ask.hosts * ask.length / 3600
            played.seconds.append(perf_counter() - begun)
        played.moved = sum(row.start_cause == Cause.MOVED for row in read_tables(world.engine)["allocations"])
    return played
