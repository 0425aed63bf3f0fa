"""How far forecasts of a trace are off, beside the demand of the last hour: `python -m bench.forecast [TRACE.swf]`.

What the jobs of the trace ask for is the demand: so many hosts from their submission on, for the time that they ask
for. With so many weeks of it known, every later hour is forecast as GET /v1/forecast does, with all that came up to
then: the mean absolute error of the median, and the part of the hours in which the demand was at most the high
quantile. Beside it, the error of expecting the demand of the last hour that was known so long before.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.replay import asked_in_hosts, leases_of
from bench.simulation.source import month
from bench.swf import TraceError
from leasehold.features.forecast.store import TimeSteps
from leasehold.features.forecast.use import HOUR, WEEK, expected_of, peaks_of

if TYPE_CHECKING:
    from bench.simulation.source import Source
    from leasehold.features.forecast.use import Counts

IN_WEEK: Final = WEEK // HOUR
LEADS: Final = {"an hour": 1, "a day": 24, "a week": IN_WEEK}


def demand_of(source: Source) -> Counts:
    """Return the hosts that are asked for in each whole hour of a trace, at most."""
    asks, _left_out = leases_of(source.jobs, in_hosts=asked_in_hosts(source.jobs))
    first, last = (at(ask.start for ask in asks) for at in (min, max))
    hours = (last - first) // HOUR
    wanted = ((ask.start - first, ask.start - first + ask.length, ask.hosts) for ask in asks)
    return peaks_of(wanted, TimeSteps(0, HOUR, hours))


def errors_of(demand: Counts, weeks: int) -> dict[str, float]:
    """Return the figures of forecasts that rest on so many weeks, of each hour for which there are as many."""
    # A week ahead is the longest lead for which the last weeks are known in full, whatever the lead.
    hours = range(weeks * IN_WEEK, demand.size)
    came = demand[hours.start :]
    found = [expected_of(demand[:hour], weeks, IN_WEEK, 0, 1) for hour in hours]
    median, high = (np.array([getattr(each, name)[0] for each in found]) for name in ("median", "high"))
    last = {f"as {name} before": came - demand[hours.start - lead : hours.stop - lead] for name, lead in LEADS.items()}
    return {
        "hours": came.size,
        "mean demand": came.mean(),
        "median": np.abs(came - median).mean(),
        **{name: np.abs(off).mean() for name, off in last.items()},
        "at most high": (came <= high).mean(),
    }


def main() -> int:
    """Print the figures of a trace, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.forecast", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trace", nargs="?", type=Path, help="a file in the Standard Workload Format")
    try:
        source = month(parser.parse_args().trace)
    except TraceError as error:
        print(error, file=sys.stderr)
        return 1
    demand = demand_of(source)
    print(f"{source.name}; {demand.size / 24:.1f} days of demand; errors in hosts")
    for weeks in range(1, demand.size // IN_WEEK + 1):
        figures = errors_of(demand, weeks)
        print(f"{weeks} weeks known: " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
