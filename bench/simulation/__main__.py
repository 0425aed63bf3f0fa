"""Simulate a part of the month, or a piece of it, and print what happened; or put the parts that were kept on a page.

    python -m bench.simulation [TRACE.swf] [--part NAME] [--days D] [--seed N] [--spares N] [--database mariadb]
                               [--by-hand] [--keep]
    python -m bench.simulation --page

Without a trace it takes that of `make bench`. Exits with 1 if a lease started late or an audit found something.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

from bench import month as benchmark
from bench.month import SEED, rows_of
from bench.record import Group, Record
from bench.results import HERE, as_lines, record, write_page_alone
from bench.simulation.parts import PARTS
from bench.simulation.simulation import simulate
from bench.simulation.source import month
from bench.swf import TraceError
from tests.servers import KINDS, new_database

PARTS_KEPT = HERE / "kept"
"""Where parts are kept, in the repository: all of them take hours, and the page needs all."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.simulation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trace", nargs="?", type=Path, help="a file in the Standard Workload Format")
    parser.add_argument("--part", choices=PARTS, default="month", help="which part (default month, which is as now)")
    parser.add_argument("--days", type=float, help="how many days (default: as the bench)")
    parser.add_argument("--seed", type=int, default=SEED, help="what people and hosts do (default: as the bench)")
    parser.add_argument("--database", choices=KINDS, default="sqlite", help="default sqlite")
    parser.add_argument("--spares", type=int, help="so many idle hosts stay on, in a part in which hosts sleep")
    parser.add_argument("--by-hand", action="store_true", help="compare the report of usage with a count by hand")
    parser.add_argument("--keep", action="store_true", help=f"write the figures to {PARTS_KEPT.name}/, for --page")
    parser.add_argument("--page", action="store_true", help="write MONTH.md of the parts that were kept, and the plots")
    args = parser.parse_args()
    try:
        args.chosen = PARTS[args.part] if args.spares is None else PARTS[args.part].with_spares(args.spares)
    except ValueError as error:
        parser.error(str(error))
    return args


def main() -> int:
    """Simulate, print, and return the exit code."""
    args = _arguments()
    if args.page:
        return _write_page()
    try:
        source = month(args.trace)
    except TraceError as error:
        print(error, file=sys.stderr)
        return 1
    days, load = args.days or args.chosen.days, os.getloadavg()[0]
    print(f"{args.part}: {source.name}; {days:g} days, seed {args.seed}, {args.database}", flush=True)
    with new_database(args.database) as url:
        report = simulate(source, args.seed, timedelta(days=days), args.chosen, database_url=url, by_hand=args.by_hand)
    rows = tuple(rows_of(report, args.part))
    print(as_lines(rows))
    answers = Counter({", ".join(name): count for name, count in report.people.answers.items()})
    booted = (report.people.booted, report.others.booted, report.fillers.booted)
    for counts in (answers, *booted, report.hosts.happened, report.news):
        print(*(f"{counts[name]:>7,}  {name}" for name in sorted(counts)), "", sep="\n")
    print(*report.problems, sep="\n")
    if args.keep:
        command = " ".join(["python -m bench.simulation", *sys.argv[1:]])
        record(command, load, [Group("month", args.chosen.title, report.seconds, rows)]).write(_kept(args.part))
    return 1 if report.problems else 0


def _kept(part: str) -> Path:
    return PARTS_KEPT / f"{part}.json"


def _write_page() -> int:
    """Write the page as `python -m bench month --write` does, of parts that were simulated beside each other."""
    missing = [name for name in PARTS if not _kept(name).exists()]
    if missing:
        print(
            *(f"First: python -m bench.simulation --part {name} --keep" for name in missing), sep="\n", file=sys.stderr
        )
        return 1
    kept = [Record.read(_kept(name)) for name in PARTS]
    rows = [row for each in kept for row in each.rows]
    group = Group(
        "month", (benchmark.__doc__ or "").partition("\n")[0].rstrip("."), 0.0, (*rows, *benchmark.compared(rows))
    )
    command = "; ".join(each.command for each in kept)
    write_page_alone("month", Record(command, kept[-1].date, kept[0].machine, (group,)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
