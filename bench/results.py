"""The results as text: for a terminal, and as the pages in the repository."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench import machine, month_page, plots
from bench.peers import page as peers_page
from bench.reasons import reason
from bench.record import Record
from bench.row import Row, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.growth import Growth
    from bench.record import Group

HERE: Final = Path(__file__).parent
PAGE: Final = HERE / "RESULTS.md"
KEPT: Final = HERE / "RESULTS.json"
PLOTS: Final = HERE / "plots"
OUT: Final = HERE / "out"
"""Where every run writes its JSON and its plots; the pages in the repository need `--write`."""
LAST: Final = OUT / "run.json"
"""The last run of everything."""
ALONE: Final = {
    "cloud": HERE / "CLOUD.md",
    "month": HERE / "MONTH.md",
    "timeline": HERE / "TIMELINE.md",
    "console": HERE / "CONSOLE.md",
    "peers": HERE / "PEERS.md",
}
"""Benchmarks with pages of their own, which run if they are named: they need an OpenStack that runs, or an hour, or
another system, or go with the console."""
HEAD: Final = """# Results

Written by `{command}` on {date}, on one machine, each group in one run. Budgets are those of the design. A ratio is
the measured figure divided by the one that stands beside the ratio.

| | |
|---|---|
{machine}
"""
UPSTREAM: Final = """
## Upstream, for the record

These figures were measured on Blazar before this service existed, on another two-core machine with MariaDB. They do not
belong to this run, so the ratios above that compare with them show orders of magnitude only.

| situation | Blazar |
|---|---|
| one client's POST of a host lease, 5 hosts | 2.0 s |
| the same, 200 hosts and 4,000 future leases | 3.9 s |
| the same, 1,000 hosts and 20,000 future leases | 11.5 s |
| listing those 20,000 leases | 11.3 s |
| listing 1,000 hosts | 3.4 s |
| POST of an instance lease | 2.6 s |
| DELETE of a pending lease | 3.1 s |
| ten leases due in the same minute | one active every 5 s, the last after 59 s |
| 15 simultaneous requests on 5 hosts | 10 granted |

## The replay of a real log

`python -m bench.replay TRACE.swf` plays a log in the Standard Workload Format against a fresh service and compares
every answer, and every chosen host, with a brute-force reference. With a generated trace, the replay is part of
`make test`. The real log that we play is that of the SDSC Blue Horizon, provided by Travis Earheart and Nancy
Wilkins-Diehr through the Parallel Workloads Archive; it is not part of this repository.
"""
DATABASES: Final = ("SQLite", "MariaDB", "PostgreSQL")
COMPARED: Final = "for comparison"
"""What stands in place of a budget; `bench.growth` tells of every row that grew by half."""
COLUMNS: Final = ("what", "measured", "budget", "compared", "verdict")


def cells(row: Row) -> tuple[str, ...]:
    """Return the row as text, cell by cell."""
    return (row.name, f"{number(row.measured)} {row.unit}".rstrip(), _budget(row), row.comparison, row.verdict)


def _budget(row: Row) -> str:
    return COMPARED if row.budget is None else f"{'' if row.exact else '<= '}{number(row.budget)} {row.unit}".rstrip()


def as_lines(rows: Sequence[Row]) -> str:
    """Return columns for a terminal."""
    table = [COLUMNS, *map(cells, rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table
    )


def record(command: str, load: float, groups: Iterable[Group]) -> Record:
    """Return a Record of the groups, with the facts about the machine.

    `load` is the load average before the first benchmark: near 0 on an idle machine.
    """
    facts = (*machine.describe(), ("Load before the run", f"{load:.1f}"))
    return Record(command, f"{datetime.now(UTC):%Y-%m-%d}", facts, tuple(groups))


def write_page(run: Record, growth: Sequence[Growth] = ()) -> None:
    """Write the page of a run of everything, and its plots, with the growth that was accepted."""
    drawn = plots.draw(run.rows, PLOTS)
    others = {f"{name}.png" for name in (*plots.COURSES, *plots.ALONE)}
    for picture in PLOTS.glob("*.png"):
        if picture.name not in drawn.keys() | others:
            picture.unlink()
    pictures = _pictures(drawn)
    text = _head(run) + _budgets(run.rows) + _missed(run.rows) + _growth(growth)
    text += f"\n## How it grows\n\nHow to read the plots: [README.md](README.md).\n{pictures}"
    PAGE.write_text(text + "".join(_tables(run)) + UPSTREAM, encoding="utf-8")


def write_page_alone(name: str, run: Record) -> None:
    """Write the page of a benchmark that has one of its own, with its plots if it has some."""
    drawn = plots.draw_courses(run.rows, PLOTS) | plots.draw_lines(run.rows, PLOTS)
    bodies = {"peers": peers_page.tables, "month": month_page.tables}
    body = bodies[name](run.rows) if name in bodies else "".join(_tables(run))
    text = _head(run) + _pictures(drawn) + body + _missed(run.rows)
    ALONE[name].write_text(text, encoding="utf-8")


def _pictures(drawn: Mapping[str, str]) -> str:
    return "".join(f"\n![{title}](plots/{name})\n" for name, title in drawn.items())


def _head(run: Record) -> str:
    facts = "\n".join(f"| {name} | {value} |" for name, value in run.machine)
    return HEAD.format(command=run.command, date=run.date, machine=facts)


def _budgets(rows: Iterable[Row]) -> str:
    """Return the rows that have a budget, all in one table."""
    lines = [
        f"| {row.name} | {number(row.measured)} {row.unit} | {_budget(row)} | {_share(row)} | {row.verdict} |"
        for row in rows
        if row.budget is not None
    ]
    head = "| what | measured | budget | of the budget | verdict |\n|---|---|---|---|---|"
    return "\n".join(["\n## The budgets\n", head, *lines, ""])


def _share(row: Row) -> str:
    return "" if row.exact or not row.budget else f"{100 * row.measured / row.budget:.0f} %"


def _missed(rows: Iterable[Row]) -> str:
    """Return the reasons of missed budgets; empty when all are kept."""
    missed = [f"* **{row.name}.** {reason(row)}\n" for row in rows if row.verdict == "MISSED"]
    return "\n".join(["\n## Budgets that are missed, and why\n", "".join(missed)]) if missed else ""


def _growth(growth: Iterable[Growth]) -> str:
    """Return what grew by half since the page before; empty when nothing did."""
    lines = [f"* {each}\n" for each in growth]
    return "\n".join(["\n## Figures that grew by half since the page before\n", "".join(lines)]) if lines else ""


def _tables(run: Record) -> Iterator[str]:
    for group in run.groups:
        lines = "\n".join(f"| {' | '.join(cells(row))} |" for row in group.rows)
        yield f"\n## {group.title}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n{lines}\n"
