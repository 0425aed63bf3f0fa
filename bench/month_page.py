"""The page of the simulated month: its figures beside each other, a column for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.row import number
from bench.simulation.parts import NOW_DAYS, PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.row import Row

HEADS: Final = {
    "month": """
## The same month, part by part

A cloud of 144 hosts, and as many shared ones as a sixth of that. The same people ask for the same, but with flexible
leases some of those who need not begin at a certain time ask for these. A claim is a lease of what somebody lends. What
this is made of: [README.md](README.md#the-simulated-month).
""",
    "now": f"""
## What spares change for those who ask for now

With sleep, the first {NOW_DAYS} days of the month. Who asks for now, is refused, and is told that hosts are ready in
some minutes asks for that.
""",
    "": "\n## Other figures\n",
}
"""What is above the table of the parts whose names begin so."""


def tables(rows: Sequence[Row]) -> str:
    """Return a table for each kind of part that has figures."""
    return "".join(f"{head}\n{''.join(_table(kind, rows))}" for kind, head in HEADS.items() if _parts(kind, rows))


def _parts(kind: str, rows: Iterable[Row]) -> Sequence[str]:
    """Return the parts of a kind that have figures, in their order."""
    there = {_split(row)[0] for row in rows}
    return [part for part in (*PARTS, "") if part in there and part.partition("-")[0] == kind]


def _split(row: Row) -> tuple[str, str]:
    """Return the part that a row is of, and what it is about; of no part, all of its name."""
    for part in sorted(PARTS, key=len, reverse=True):
        if row.name.startswith(part) and row.name[len(part)] in ":,":
            return part, row.name[len(part) + 1 :].strip()
    return "", row.name


def _table(kind: str, rows: Sequence[Row]) -> Iterator[str]:
    parts = _parts(kind, rows)
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        part, what = _split(row)
        if part in parts:
            found.setdefault(what, {})[part] = row
    titles = [PARTS[part].title if part else "measured" for part in parts]
    yield _line(["what", *titles, "goal"])
    yield f"|{'---|' * (len(parts) + 2)}\n"
    for what, each in found.items():
        yield _line([what, *(_figure(each, part) for part in parts), _goal(each.values())])


def _figure(each: Mapping[str, Row], part: str) -> str:
    if part not in each:
        return ""
    row = each[part]
    text = f"{number(row.measured)} {row.unit}".rstrip()
    return f"**{text}**, missed" if row.verdict == "MISSED" else text


def _goal(rows: Iterable[Row]) -> str:
    goals = {
        f"{'' if row.exact else '<= '}{number(row.budget or 0)} {row.unit}".rstrip() for row in rows if row.verdict
    }
    return ", ".join(sorted(goals))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
