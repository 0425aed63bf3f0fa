"""Simulate a month, or a piece of one, and print what happened: to look into what a test or benchmark has found.

    python -m bench.simulation [TRACE.swf] [--days D] [--seed N] [--database mariadb] [--spares N]

Without a trace it takes that of `make bench`. Exits with 1 if a lease started late or an audit found something.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

from bench.month import SEED, rows_of
from bench.results import as_lines
from bench.simulation.simulation import simulate
from bench.simulation.site import SETTINGS
from bench.simulation.sleeping import sleeping
from bench.simulation.source import DAYS, month
from bench.swf import TraceError
from tests.servers import KINDS, new_database


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.simulation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trace", nargs="?", type=Path, help="a file in the Standard Workload Format")
    parser.add_argument("--days", type=float, default=DAYS, help=f"how many days (default {DAYS})")
    parser.add_argument("--seed", type=int, default=SEED, help="what people and hosts do (default: as the bench)")
    parser.add_argument("--database", choices=KINDS, default="sqlite", help="default sqlite")
    parser.add_argument("--spares", type=int, help="let hosts sleep, but for so many idle ones (default: none sleeps)")
    return parser.parse_args()


def main() -> int:
    """Simulate, print, and return the exit code."""
    args = _arguments()
    try:
        source = month(args.trace)
    except TraceError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{source.name}; {args.days:g} days, seed {args.seed}, {args.database}", flush=True)
    with new_database(args.database) as url:
        settings = SETTINGS if args.spares is None else sleeping(args.spares)
        report = simulate(source, args.seed, timedelta(days=args.days), database_url=url, settings=settings)
    print(as_lines(list(rows_of(report))))
    answers = Counter({", ".join(name): count for name, count in report.people.answers.items()})
    for counts in (answers, report.people.booted, report.others.booted, report.hosts.happened, report.news):
        print(*(f"{counts[name]:>7,}  {name}" for name in sorted(counts)), "", sep="\n")
    print(*report.problems, sep="\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
