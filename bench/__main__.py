"""Run the benchmarks: `python -m bench [--quick] [--write] [name ...]`; `--list` lists them.

Each run writes its figures to `bench/out/`, as JSON and as plots. A missed budget is reported and is not an error; a
benchmark that cannot be measured is an error, and so is a figure that grew by half since the last page.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench import (
    asleep,
    binding,
    burst,
    bystander,
    claims,
    cloud,
    console,
    crowd,
    decisions,
    delete,
    deliveries,
    due,
    flat,
    instructions,
    lag,
    listing,
    lists,
    memory,
    month,
    own,
    plots,
    polls,
    post,
    start,
    statements,
    throughput,
    timeline,
    turns,
    upstream,
    usage,
)
from bench.growth import grown
from bench.machine import MOST_LOAD
from bench.peers import group as peers
from bench.reasons import reason, stale
from bench.record import Group, Record
from bench.results import ALONE, DATABASES, KEPT, LAST, OUT, PAGE, as_lines, record, write_page, write_page_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bench.growth import Growth
    from bench.row import Row


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark, which measures one group of rows; `seconds` is about how long it takes on two idle cores.

    The page of one that is `fair` is written only of a machine that does nothing else.
    """

    run: Callable[..., list[Row]]
    seconds: int
    fair: bool = False

    @property
    def title(self) -> str:
        """The first line of the docstring of the benchmark's module."""
        return (sys.modules[self.run.__module__].__doc__ or "").partition("\n")[0].rstrip(".")


BENCHMARKS = {
    "calendar": Benchmark(decisions.run, 100),
    "asleep": Benchmark(asleep.run, 30),
    "instructions": Benchmark(instructions.run, 70),
    "post": Benchmark(post.run, 60),
    "own": Benchmark(own.run, 120),
    "flat": Benchmark(flat.run, 240),
    "throughput": Benchmark(throughput.run, 95),
    "crowd": Benchmark(crowd.run, 60),
    "statements": Benchmark(statements.run, 20),
    "listing": Benchmark(listing.run, 35),
    "delete": Benchmark(delete.run, 15),
    "due": Benchmark(due.run, 140),
    "rush": Benchmark(burst.run, 120),
    "polls": Benchmark(polls.run, 60),
    "deliveries": Benchmark(deliveries.run, 80),
    "turns": Benchmark(turns.run, 90),
    "claims": Benchmark(claims.run, 120),
    "lag": Benchmark(lag.run, 45),
    "bystander": Benchmark(bystander.run, 640),
    "memory": Benchmark(memory.run, 40),
    "lists": Benchmark(lists.run, 420),
    "usage": Benchmark(usage.run, 900),
    "timeline": Benchmark(timeline.run, 120),
    "console": Benchmark(console.run, 120),
    "month": Benchmark(month.run, 20_000),
    "start": Benchmark(start.run, 10),
    "binding": Benchmark(binding.run, 240),
    "upstream": Benchmark(upstream.run, 50),
    "cloud": Benchmark(cloud.run, 75),
    "peers": Benchmark(peers.run, 720, fair=True),
}
"""In the order of the page; each one starts what it needs and leaves nothing behind."""


DEFAULT: Final = tuple(name for name in BENCHMARKS if name not in ALONE)
"""What runs if nothing is named."""


def main() -> int:
    """Measure, print each group's rows as they come, and write the pages with `--write`."""
    args = _arguments()
    if args.list:
        print("\n".join(f"{name:<14}{each.seconds:>4} s  {each.title}" for name, each in BENCHMARKS.items()))
        return 0
    if args.redraw:
        write_page(Record.read(KEPT))
        return 0
    if args.accept:
        again = [Record.read(OUT / f"{name}.json") for name in args.names]
        _keep(Record.read(LAST).with_later(again))
        return 0
    load = os.getloadavg()[0]
    names = [name for name in BENCHMARKS if name in (args.names or DEFAULT)]
    if args.write and (refused := refusal(names, load)):
        print(refused)
        return 1
    groups = [group for name in names if (group := _measure(name, quick=args.quick)) is not None]
    failed = sorted(set(names) - {group.name for group in groups})
    options = [f"--{name}" for name in ("quick", "write") if getattr(args, name)]
    command = " ".join(["python -m bench", *args.names, *options])
    run = record(command, load, groups)
    _leave(run)
    growth = grown(run.rows, Record.read(KEPT).rows)
    if args.write and not failed:
        _write_pages(run, everything=not args.names and not growth)
    _summarise(run.rows, failed, growth)
    return 1 if failed or (growth and not args.quick) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the budgets of design §10.")
    which = f"which to run: {', '.join(BENCHMARKS)} (default: all but {', '.join(ALONE)})"
    parser.add_argument("names", nargs="*", metavar="name", help=which)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, in a few minutes; figures do not count")
    parser.add_argument("--list", action="store_true", help="list the benchmarks with their durations, and exit")
    parser.add_argument("--redraw", action="store_true", help=f"write {PAGE.name} and its plots from {KEPT.name} again")
    parser.add_argument(
        "--accept",
        action="store_true",
        help=f"write {PAGE.name}, {KEPT.name} and the plots of the last run of everything, with the figures that grew; "
        "those that are named are as they were measured last",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"write {PAGE.name}, {KEPT.name} and the plots, or the page of {' or '.join(ALONE)} alone",
    )
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    if args.write and (args.quick or args.names not in ([], *([name] for name in ALONE))):
        parser.error(f"--write needs all benchmarks at full size, so no names, or {' or '.join(ALONE)} alone")
    return args


def refusal(names: Iterable[str], load: float) -> str:
    """Return why the page of these benchmarks is not to be written now; empty when it may be."""
    fair = [name for name in names if BENCHMARKS[name].fair]
    if not fair or load <= MOST_LOAD:
        return ""
    without = f"above {MOST_LOAD:.1f} the figures of {', '.join(fair)} are printed, and no page is written"
    return f"The load is {load:.1f}: {without}. Leave out --write."


def _measure(name: str, *, quick: bool) -> Group | None:
    """Return the group, or None when it cannot be measured, with the reason printed."""
    benchmark = BENCHMARKS[name]
    print(f"\n{name}: {benchmark.title} (about {benchmark.seconds} s)", flush=True)
    begun = time.perf_counter()
    try:
        rows = benchmark.run(quick=quick)
    except Exception:  # noqa: BLE001 - a failure must not stop the other benchmarks.
        traceback.print_exc()
        return None
    group = Group(name, benchmark.title, time.perf_counter() - begun, tuple(rows))
    print(f"{as_lines(rows)}\n{name} took {group.seconds:.0f} s", flush=True)
    return group


def _leave(run: Record) -> None:
    """Write the run to `bench/out/`: the JSON of each group, and the plots."""
    for group in run.groups:
        Record(run.command, run.date, run.machine, (group,)).write(OUT / f"{group.name}.json")
    if {group.name for group in run.groups} >= set(DEFAULT):
        run.write(LAST)
    plots.draw(run.rows, OUT)


def _write_pages(run: Record, *, everything: bool) -> None:
    """Write the page of a benchmark that has one of its own, and that of all others after a run of them all."""
    facts = tuple(fact for fact in run.machine if fact[0] not in DATABASES)
    for group in run.groups:
        if group.name in ALONE and group.rows:
            alone = Record(f"python -m bench {group.name} --write", run.date, facts, (group,))
            write_page_alone(group.name, alone)
    if everything:
        _keep(run)


def _keep(run: Record) -> None:
    """Write the page of a run of everything in place of the one before, with what grew since that one."""
    growth = grown(run.rows, Record.read(KEPT).rows)
    run.write(KEPT)
    write_page(run, growth)
    for name in stale(run.rows):
        print(f"A reason is kept for {name!r}, but there is no such row: remove it from bench/reasons.py.")


def _summarise(rows: Sequence[Row], failed: Sequence[str], growth: Sequence[Growth]) -> None:
    missed = [row for row in rows if row.verdict == "MISSED"]
    print(f"\n{len(missed)} budgets missed" + "".join(f"\n  {row.name}: {reason(row)}" for row in missed))
    if growth:
        print(f"{len(growth)} figures grew by half since the page of {Record.read(KEPT).date}; see bench/README.md")
        print("".join(f"  {each}\n" for each in growth), end="")
    if failed:
        print(f"These could not be measured, so no page was written: {', '.join(failed)}")


if __name__ == "__main__":
    sys.exit(main())
