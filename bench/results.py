"""The results as text: for a terminal, and as the page that is kept in the repository."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench import machine
from bench.row import Row, number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

PAGE: Final = Path(__file__).parent / "RESULTS.md"
CLOUD_PAGE: Final = Path(__file__).parent / "CLOUD.md"
"""Apart, because it is measured where an OpenStack runs."""
HEAD: Final = """# Results

Written by `{command}` on {date}, on one machine in one run. Budgets are those of the design; a row
without one is there to be compared. A ratio says how many times the figure beside it the measured one is.

| | |
|---|---|
{machine}
"""
REASONS: Final = """
## Budgets that are missed, and why

* **Decision and earliest slot for instances.** The p99 is a request for thousands of slots over weeks: every shared
  promise in the window is swept, exactly, and their number is what the time grows with. The usual request (p50) is far
  inside. An index of peaks by day would cut the sweep.
* **Listing 1,000 leases.** Three statements, 5,000 rows, 1.5 MB of JSON; the time is Python's, spread evenly over the
  driver (PyMySQL decodes rows in Python), the row objects, the dates and the JSON. v1 has no paging; limit and marker
  will make it a question that nobody asks.
* **1,000 leases due at one second, on MariaDB.** Each start is some twenty durable commits, most of them the sandbox
  cloud's own, which a real cloud does elsewhere. On SQLite, where the sandbox lives by default, the budget is kept.
"""
UPSTREAM: Final = """
## Upstream, for the record

Measured on Blazar before this service was begun, on another two-core machine with MariaDB. They were not measured in
this run, so the ratios above that compare with them tell orders of magnitude apart and no more.

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
every answer, and every host that was chosen, with a brute-force reference. With a made-up trace it is part of
`make test`. The log that we play beside it is that of the SDSC Blue Horizon, provided by Travis Earheart and Nancy
Wilkins-Diehr through the Parallel Workloads Archive; it is not part of this repository.
"""
DATABASES: Final = ("SQLite", "MariaDB", "PostgreSQL")
COLUMNS: Final = ("what", "measured", "budget", "compared", "verdict")


def cells(row: Row) -> tuple[str, ...]:
    """Return the row as text, cell by cell."""
    budget = "" if row.budget is None else f"{'' if row.exact else '<= '}{number(row.budget)} {row.unit}".rstrip()
    return (row.name, f"{number(row.measured)} {row.unit}".rstrip(), budget, row.comparison, row.verdict)


def as_lines(rows: Sequence[Row]) -> str:
    """Return columns for a terminal."""
    table = [COLUMNS, *map(cells, rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table
    )


def write_page(command: str, load: float, results: Mapping[str, Sequence[Row]]) -> None:
    """Write the page that is kept, with the reasons for what is missed; see `tables`."""
    PAGE.write_text(tables(command, load, results) + REASONS + UPSTREAM, encoding="utf-8")


def write_cloud_page(command: str, load: float, results: Mapping[str, Sequence[Row]]) -> None:
    """Write the page about the real cloud, which has a database of its own; see `tables`."""
    CLOUD_PAGE.write_text(tables(command, load, results, without=DATABASES), encoding="utf-8")


def tables(command: str, load: float, results: Mapping[str, Sequence[Row]], *, without: Collection[str] = ()) -> str:
    """Return the machine and the results as Markdown; `results` are the rows of each benchmark under its title.

    `load` is how many processes wanted to run before the first benchmark: near 0 on a machine of our own.
    """
    described = [fact for fact in machine.describe() if fact[0] not in without]
    described.append(("Load before the run", f"{load:.1f}"))
    facts = "\n".join(f"| {name} | {value} |" for name, value in described)
    text = HEAD.format(command=command, date=f"{datetime.now(UTC):%Y-%m-%d}", machine=facts)
    for title, rows in results.items():
        lines = "\n".join(f"| {' | '.join(cells(row))} |" for row in rows)
        text += f"\n## {title}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n{lines}\n"
    return text
