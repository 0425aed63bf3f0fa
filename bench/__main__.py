"""Run the benchmarks: `python -m bench [--quick] [--write] [name ...]`.

Exits with 1 when a budget is missed; `--quick` is for a first look and decides nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING

from bench import cloud, decisions, delete, due, lag, listing, memory, post, start, statements, upstream
from bench.results import CLOUD_PAGE, PAGE, as_lines, write_cloud_page, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.row import Row

BENCHMARKS = {
    "decisions": decisions.run,
    "post": post.run,
    "statements": statements.run,
    "listing": listing.run,
    "delete": delete.run,
    "due": due.run,
    "lag": lag.run,
    "memory": memory.run,
    "start": start.run,
    "upstream": upstream.run,
    "cloud": cloud.run,
}
"""In the order of the page; each one starts what it needs and leaves nothing behind."""


CLOUD = "cloud"


def main() -> int:
    """Measure, print each benchmark's rows as they come, and write the page when that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what design §10 promises.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"which: {', '.join(BENCHMARKS)} (default all)")
    parser.add_argument("--quick", action="store_true", help="less of everything, in about two minutes")
    parser.add_argument(
        "--write", action="store_true", help=f"write {PAGE.name}, or with the name cloud alone {CLOUD_PAGE.name}"
    )
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    if args.write and (args.quick or args.names not in ([], [CLOUD])):
        parser.error("the page is written from all benchmarks at their full size")
    results: dict[str, list[Row]] = {}
    failed: list[str] = []
    load = os.getloadavg()[0]
    for name, run in BENCHMARKS.items():
        if not args.names or name in args.names:
            begun = time.perf_counter()
            try:
                rows = results[_title(run)] = run(quick=args.quick)
            except Exception:  # noqa: BLE001 - whatever it is, the other benchmarks are still worth their time.
                traceback.print_exc()
                failed.append(name)
            else:
                print(f"\n{name} ({time.perf_counter() - begun:.0f} s)\n{as_lines(rows)}", flush=True)
    if args.write and not failed:
        _write_pages(load, results, everything=not args.names)
    missed = [row.name for rows in results.values() for row in rows if row.verdict == "MISSED"]
    print(f"\n{len(missed)} budgets missed" + "".join(f"\n  {name}" for name in missed))
    if failed:
        print(f"These could not be measured, so no page was written: {', '.join(failed)}")
    return 1 if missed or failed else 0


def _write_pages(load: float, results: Mapping[str, list[Row]], *, everything: bool) -> None:
    title = _title(cloud.run)
    if results.get(title):
        write_cloud_page("python -m bench cloud --write", load, {title: results[title]})
    if everything:
        others = {name: rows for name, rows in results.items() if name != title}
        write_page("python -m bench --write", load, others)


def _title(run: Callable[..., object]) -> str:
    """Return the first line of the benchmark's own description."""
    return (sys.modules[run.__module__].__doc__ or "").partition("\n")[0].rstrip(".")


if __name__ == "__main__":
    sys.exit(main())
