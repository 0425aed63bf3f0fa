"""The answers seen in a storm or a soak: as a table, and checked against the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.harness.verdict import problems
from tests.harness.visitor import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tests.harness.visitor import Asked

EXPECTED = frozenset(
    {("POST", 201), ("POST", 400), ("POST", 409)}
    | {("PUT", 200), ("PUT", 400), ("PUT", 404), ("PUT", 409)}
    | {("DELETE", 204), ("DELETE", 404)}
)
"""The answers to expect while everything works. 400 is for a window that is over when the request is decided."""
OUTAGE = frozenset((method, status) for method in ("POST", "PUT", "DELETE") for status in (NO_ANSWER, 503))
"""The additional answers to expect while a database or a process is down."""


@dataclass(frozen=True)
class StormReport:
    """The requests and answers, their durations, and the work of each manager."""

    seed: int
    answers: Sequence[Asked]
    seconds: float
    idle_after: float
    work: Sequence[Mapping[str, int]]

    @property
    def granted(self) -> int:
        """The number of granted leases."""
        return sum(answer.status == 201 for answer in self.answers)

    def statuses(self) -> dict[tuple[str, int], int]:
        """Return the number of answers by kind of request and status."""
        found: dict[tuple[str, int], int] = {}
        for answer in self.answers:
            found[answer.kind, answer.status] = found.get((answer.kind, answer.status), 0) + 1
        return dict(sorted(found.items()))

    def check(self, url: str, *, tolerated: Collection[tuple[str, int]] = (), shared: bool = True) -> None:
        """Raise AssertionError, with the seed, for unexpected answers and for contradictions with the database.

        `tolerated` lists answers, by method and status, to allow besides `EXPECTED`; see `OUTAGE`. With `shared`
        every manager must have done some of the work.
        """
        strange = [answer for answer in self.answers if (answer.method, answer.status) not in {*EXPECTED, *tolerated}]
        found = [f"{answer.kind} was answered {answer.status}: {answer.body}" for answer in strange[:5]]
        found += problems(url, self.answers)
        if shared and not all(sum(done.values()) for done in self.work):
            found.append(f"not every manager has done some of the work: {self.work}")
        assert not found, f"seed {self.seed}: {self.statuses()}\n" + "\n".join(found[:40])

    def table(self) -> str:
        """Return the requests by kind and status, and the rates, as text."""
        kinds = sorted({answer.kind for answer in self.answers})
        columns = sorted({answer.status for answer in self.answers})
        counts = self.statuses()
        lines = [("request", *(str(status or "none") for status in columns), "all", "mean s")]
        for kind in kinds:
            row = [counts.get((kind, status), 0) for status in columns]
            took = sum(answer.seconds for answer in self.answers if answer.kind == kind) / sum(row)
            lines.append((kind, *map(str, row), str(sum(row)), f"{took:.2f}"))
        total = [sum(counts.get((kind, status), 0) for kind in kinds) for status in columns]
        took = sum(answer.seconds for answer in self.answers) / max(1, len(self.answers))
        lines.append(("all", *map(str, total), str(len(self.answers)), f"{took:.2f}"))
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        text = "\n".join("  ".join(map(_padded, line, widths)) for line in lines)
        rates = f"{len(self.answers) / self.seconds:.0f} requests/s, {self.granted / self.seconds:.1f} leases/s"
        work = "\n".join(f"manager {number}: {dict(done)}" for number, done in enumerate(self.work, 1))
        return f"{text}\n{self.seconds:.1f} s, {rates}, idle after {self.idle_after:.1f} s\n{work}"


def _padded(cell: str, width: int) -> str:
    """Return a table cell: text aligned left, numbers right."""
    return cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)
