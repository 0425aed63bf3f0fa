"""The Standard Workload Format of the Parallel Workloads Archive, as far as a replay needs it.

One job per line, with at least twelve columns; -1 is an unknown value, and `;` begins a comment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

COMMENT: Final = ";"
UNKNOWN: Final = -1
COLUMNS: Final = {
    "job": 1,
    "submitted": 2,
    "ran": 4,
    "used": 5,
    "asked": 8,
    "time_asked": 9,
    "user": 12,
}
"""The fields that are read, and their columns, counted from one as in the format's description."""
FEWEST_COLUMNS: Final = max(COLUMNS.values())
ALL_COLUMNS: Final = 18


class TraceError(ValueError):
    """A trace cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Job:
    """One line. Times are in seconds, sizes in processors; -1 is unknown."""

    job: int
    submitted: int
    ran: int
    used: int
    asked: int
    time_asked: int
    user: int


def read_trace(path: Path) -> list[Job]:
    """Return the jobs of a trace in the order of their submission; raises TraceError."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TraceError(f"{path}: the trace cannot be read: {error.strerror}.") from error
    return parse_trace(text.splitlines(), str(path))


def parse_trace(lines: Iterable[str], name: str) -> list[Job]:
    """Return the jobs in these lines; `name` is what errors call the file."""
    jobs = []
    for number, line in enumerate(lines, start=1):
        words = line.partition(COMMENT)[0].split()
        if words:
            jobs.append(_read_job(words, f"{name}, line {number}"))
    return sorted(jobs, key=lambda job: (job.submitted, job.job))


def _read_job(words: Sequence[str], place: str) -> Job:
    if len(words) < FEWEST_COLUMNS:
        raise TraceError(f"{place}: {len(words)} columns; a job has {ALL_COLUMNS}, and {FEWEST_COLUMNS} are needed.")
    job = Job(**{name: _read_number(words[column - 1], name, column, place) for name, column in COLUMNS.items()})
    if job.submitted < 0:
        raise TraceError(f"{place}: column {COLUMNS['submitted']}, the submit time, is {job.submitted}.")
    return job


def _read_number(word: str, name: str, column: int, place: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise TraceError(f"{place}: column {column}, {name}, is {word[:40]!r} and not a whole number.") from None


def write_trace(jobs: Iterable[Job], path: Path) -> None:
    """Write jobs so that `read_trace` reads them again; columns that it does not read are unknown."""
    lines = [f"{COMMENT} Version: 2.2"]
    for job in jobs:
        words = [str(UNKNOWN)] * ALL_COLUMNS
        for name, column in COLUMNS.items():
            words[column - 1] = str(getattr(job, name))
        lines.append(" ".join(words))
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
