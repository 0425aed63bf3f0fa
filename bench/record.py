"""A run's results: its groups of rows, with machine and date, stored as JSON so that plots can be redrawn."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from bench.row import Course, Point, Row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one benchmark, and how many seconds it took to measure them."""

    name: str
    title: str
    seconds: float
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A run: its command, its date, facts about the machine by name, and the groups of rows."""

    command: str
    date: str
    machine: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of the page."""
        return tuple(row for group in self.groups for row in group.rows)

    def with_later(self, others: Sequence[Self]) -> Self:
        """Return the run with the groups of later runs in place of its own, and their commands beside its own."""
        later = {group.name: group for other in others for group in other.groups}
        command = "; ".join(dict.fromkeys([self.command, *(other.command for other in others)]))
        return replace(self, command=command, groups=tuple(later.get(group.name, group) for group in self.groups))

    def write(self, path: Path) -> None:
        """Store the run as JSON, one row per line, each with its verdict."""
        groups = ",\n".join(_as_text(group) for group in self.groups)
        head = json.dumps({"command": self.command, "date": self.date, "machine": dict(self.machine)}, indent=1)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{head.removesuffix("}").rstrip()},\n "groups": [\n{groups}\n ]\n}}\n', encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return a run that `write` has stored."""
        found = json.loads(path.read_text(encoding="utf-8"))
        groups = tuple(
            Group(each["name"], each["title"], each["seconds"], tuple(map(_as_row, each["rows"])))
            for each in found["groups"]
        )
        return cls(found["command"], found["date"], tuple(found["machine"].items()), groups)


def _as_text(group: Group) -> str:
    rows = ",\n".join(f"   {json.dumps(_as_fields(row))}" for row in group.rows)
    head = json.dumps({"name": group.name, "title": group.title, "seconds": round(group.seconds, 1)})
    return f'  {head.removesuffix("}")}, "rows": [\n{rows}\n  ]}}'


def _as_fields(row: Row) -> dict[str, Any]:
    """Return the fields of the row that are not empty, and its verdict."""
    fields = {**asdict(row), "verdict": row.verdict}
    for name in ("measured", "budget", "baseline"):
        if fields[name] is not None:
            fields[name] = _shortened(fields[name])
    if row.course is not None:
        fields["course"]["hourly"] = list(map(_shortened, row.course.hourly))
    return {name: value for name, value in fields.items() if value is not None and value is not False and value != ""}


def _shortened(value: float) -> float:
    return float(f"{value:.5g}")


def _as_row(fields: dict[str, Any]) -> Row:
    kept = {name: value for name, value in fields.items() if name != "verdict"}
    if "point" in kept:
        kept["point"] = Point(**kept["point"])
    if "course" in kept:
        kept["course"] = Course(**{**kept["course"], "hourly": tuple(kept["course"]["hourly"])})
    return Row(**{"unit": "", **kept})
