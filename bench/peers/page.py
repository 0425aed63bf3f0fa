"""The page of the comparison: rows side by side, where each system is slower, and how all of it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.cloud import UPSTREAM_DELETE_MS, UPSTREAM_POST_MS
from bench.row import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.row import Row

SPREAD: Final = "p50 of the rounds, highest by lowest"
TIMES: Final = ("p50", "p99", "processor time")
SAME: Final = 1.1
"""What is not so much slower is no difference."""
COUNTED: Final = ("creation", "amendment", "deletion")
BLAZAR: Final = {"create": UPSTREAM_POST_MS, "delete": UPSTREAM_DELETE_MS}
METHOD: Final = """
## How it was measured

* Both systems run on this machine beside the clients, which are threads of one process, and have the same 1,000 equal
  hosts, the same reservations of one host each, and the same requests in the same order. The kinds of request come one
  after the other, and with each kind the two systems take turns. Nobody is authenticated on either side.
* Slurm is 22.05 of Debian: `slurmctld` from unpacked packages, called by Slurm's own library without the start of a
  program. Each of its calls opens a connection. Leasehold is two API processes, a manager, and MariaDB, which
  flushes every commit; each client has one connection.
* **create** asks for one to four hosts in the next 30 days. **amend** gives back the second half. **list** reads all
  reservations. **show** reads one; Slurm has no call for that, so its client reads all, as `scontrol` does.
* **earliest for all hosts** asks when all 1,000 hosts are free for three days. Slurm has no call for that: the test of
  a job says only whether it fits at one moment. So the client reads all reservations and looks for the gap itself.
* Times are in milliseconds, of all rounds together; the processor time is that of the servers for one request, in which
  the kernel counts hundredths of a second. Latencies end when the answer has arrived, those of Slurm when the library
  has unpacked it; the texts of Leasehold are not decoded.
* Blazar's times are those of [CLOUD.md](CLOUD.md): one client and five hosts of a real OpenStack, on another machine.
"""
DECISIONS: Final = """
## What is granted and refused

Both systems decided the same changes of eight hosts, one after the other. Brute force judged each decision by the hosts
that the system showed before and after it. Later changes name earlier reservations, so the systems part after
the first difference, and the numbers of their decisions are not the same. Slurm moves no reservation to make room for
another one, and when only some hosts are free it grants these, fewer than were asked for; with `scontrol` as well.
Leasehold moves reservations that have not begun; its search looks near the window that is asked for, and does not try
all placements ([0057](../docs/decisions/0057-late-binding.md)).

| change | verdict of brute force | Slurm | Leasehold |
|---|---|---|---|
"""
ANSWERS: Final = """
## What an answer means

Eight clients create reservations, and all processes are killed with SIGKILL after some hundreds of answers. Then the
system is started again. Slurm answers first and writes its state some seconds later. Leasehold answers after the
commit, and what a commit means is an option of the database: memory (`innodb_flush_log_at_trx_commit=0`), the log on
the disk, which is the default and what all other tables of this page have, or a second node of a Galera cluster. There
the first node is lost for good, and the second one is asked.

| system, and what its answer means | create, p50 | p99 | acknowledged | gone after the kill |
|---|---|---|---|---|
"""


def tables(rows: Sequence[Row]) -> str:
    """Return all that the page has below its head."""
    cells = _cells(rows)
    asked = {what: found for what, found in cells.items() if TIMES[0] in found}
    counted = {what: found for what, found in cells.items() if what in COUNTED}
    killed = {what: found for what, found in cells.items() if what not in asked and what not in counted}
    return "".join(
        [
            "\n## Who is slower\n\n",
            *(f"* {line}\n" for line in slower(asked)),
            "\n## Requests\n\n| | Slurm: p50 | p99 | processor | Leasehold: p50 | p99 | processor | Blazar: p50 |\n",
            f"|{'---|' * 8}\n",
            *_requests(asked),
            f"\n{_spread(asked)}\n",
            ANSWERS,
            *(_line([what, *map(_shown, found.values())]) for what, found in killed.items()),
            DECISIONS,
            *(
                _line([what, verdict, number(row.baseline or 0), number(row.measured)])
                for what, found in counted.items()
                for verdict, row in found.items()
            ),
            METHOD,
        ]
    )


def slower(asked: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    """Yield a line for each kind of request: in how many rows which system has the higher p50, and by how much."""
    kinds = list(dict.fromkeys(what.partition(",")[0] for what in asked))
    for kind in kinds:
        found = [each[TIMES[0]] for what, each in asked.items() if what.partition(",")[0] == kind]
        ratios = [row.measured / row.baseline for row in found if row.baseline]
        said = (_ratios("Leasehold", ratios), _ratios("Slurm", [1 / each for each in ratios]))
        yield f"**{kind}**, p50: {'; '.join(each for each in said if each)}."


def _ratios(name: str, ratios: Sequence[float]) -> str:
    worse = sorted(each for each in ratios if each > SAME)
    if not worse:
        return ""
    return f"{name} is slower in {len(worse)} of {len(ratios)}, {worse[0]:.1f} to {worse[-1]:.1f} times"


def _cells(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """Return the rows by the two parts of their names."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        what, _, figure = row.name.partition(": ")
        found.setdefault(what, {})[figure] = row
    return found


def _requests(asked: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    blazar = dict(BLAZAR)
    for what, found in asked.items():
        kind = what.partition(",")[0]
        rows = [found[each] for each in TIMES]
        figures = [*(row.baseline or 0.0 for row in rows), *(row.measured for row in rows)]
        # Beside the first row of the kind, which is that of one client and the fewest reservations.
        yield _line([what, *map(number, figures), _optional(blazar.pop(kind, None))])


def _optional(value: float | None) -> str:
    return "" if value is None else number(value)


def _spread(asked: Mapping[str, Mapping[str, Row]]) -> str:
    """Return how far the rounds differ."""
    found = [each[SPREAD] for each in asked.values()]
    ours, theirs = (
        sorted(values)[len(values) // 2]
        for values in ([row.measured for row in found], [row.baseline or 0 for row in found])
    )
    return (
        f"From round to round the p50 of a row varies: the highest is {theirs:.1f} times the lowest with Slurm and "
        f"{ours:.1f} times with Leasehold, in half of the rows more than that."
    )


def _shown(row: Row) -> str:
    return f"{number(row.measured)} {row.unit}".rstrip()


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
