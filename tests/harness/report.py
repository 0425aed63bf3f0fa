"""The answers seen in a storm or a soak: as a table, and checked against the database."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.harness.verdict import problems
from tests.harness.visitor import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.harness.visitor import Asked

EXPECTED = frozenset(
    {("POST", 201), ("POST", 400), ("POST", 409)}
    | {("PUT", 200), ("PUT", 400), ("PUT", 404), ("PUT", 409)}
    | {("DELETE", 204), ("DELETE", 404)}
)
"""The answers to expect while everything works. 400 is for a window that is over when the request is decided."""
OF_OFFERS = frozenset({("offer", 403), ("delete offer", 409)})
"""Also expected, by kind of request: a project has few open offers, and one may be accepted before it is deleted."""
OVERLOADED = "leasehold.overloaded"
"""The code of an answer to who has waited too long in line; on a busy machine that happens, and it changes nothing."""
OVERLOADED_AT_MOST = 0.2
"""The part of all answers that may be so: more is a line that nobody leads."""
OUTAGE = frozenset((method, status) for method in ("POST", "PUT", "DELETE") for status in (NO_ANSWER, 503))
"""The additional answers to expect while a database or a process is down."""


@dataclass(frozen=True)
class Report:
    """The requests and answers, their durations, the work of each manager, and what else happened and went wrong."""

    seed: int
    answers: Sequence[Asked]
    seconds: float
    idle_after: float
    work: Sequence[Mapping[str, int]]
    done: Mapping[str, int] = field(default_factory=dict)
    wrong: Sequence[str] = ()

    @property
    def granted(self) -> int:
        """The number of granted leases."""
        return sum(answer.status == 201 for answer in self.answers)

    def statuses(self) -> dict[tuple[str, int], int]:
        """Return the number of answers by kind of request and status."""
        return dict(sorted(Counter((answer.kind, answer.status) for answer in self.answers).items()))

    def verbs(self) -> set[tuple[str, int]]:
        """Return the answers by the first word of the kind of request, and status."""
        return {(kind.split()[0], status) for kind, status in self.statuses()}

    def strange(self, *, outage: bool = False) -> list[Asked]:
        """Return the unexpected answers. "Overloaded" is expected of a busy machine, unless a fifth is answered so."""
        allowed = EXPECTED | (OUTAGE if outage else frozenset())
        strange = [
            answer
            for answer in self.answers
            if (answer.method, answer.status) not in allowed and (answer.kind, answer.status) not in OF_OFFERS
        ]
        others = [answer for answer in strange if not _is_overloaded(answer)]
        return others if len(strange) - len(others) <= OVERLOADED_AT_MOST * len(self.answers) else strange

    def check(self, url: str, *, outage: bool = False) -> None:
        """Raise AssertionError, with the seed, for unexpected answers and for contradictions with the database.

        An `outage` explains more answers. Without one, every manager must have done some of the work.
        """
        found = [
            f"{answer.kind} was answered {answer.status}: {answer.body}" for answer in self.strange(outage=outage)[:5]
        ]
        found += [*self.wrong, *problems(url, self.answers)]
        if not outage and not all(sum(done.values()) for done in self.work):
            found.append(f"not every manager has done some of the work: {self.work}")
        assert not found, f"seed {self.seed}: {self.statuses()}\n" + "\n".join(found[:40])

    def table(self) -> str:
        """Return the requests by kind and status, and the rates, as text."""
        kinds = sorted({answer.kind for answer in self.answers})
        columns = sorted({answer.status for answer in self.answers})
        lines = [("request", *(str(status or "none") for status in columns), "all", "mean s")]
        for name, wanted in [*((kind, {kind}) for kind in kinds), ("all", set(kinds))]:
            row = [answer for answer in self.answers if answer.kind in wanted]
            counts = Counter(answer.status for answer in row)
            took = sum(answer.seconds for answer in row) / max(1, len(row))
            lines.append((name, *(str(counts[status]) for status in columns), str(len(row)), f"{took:.2f}"))
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        text = "\n".join("  ".join(map(_padded, line, widths)) for line in lines)
        rates = f"{len(self.answers) / self.seconds:.0f} requests/s, {self.granted / self.seconds:.1f} leases/s"
        work = [f"manager {number}: {dict(done)}" for number, done in enumerate(self.work, 1)]
        done = [f"{kind:28}{count:6}" for kind, count in sorted(self.done.items())]
        return "\n".join([text, f"{self.seconds:.1f} s, {rates}, idle after {self.idle_after:.1f} s", *work, *done])


def _padded(cell: str, width: int) -> str:
    """Return a table cell: text aligned left, numbers right."""
    return cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)


def _is_overloaded(answer: Asked) -> bool:
    return isinstance(answer.body, dict) and answer.body.get("code") == OVERLOADED
