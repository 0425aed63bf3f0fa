"""The results of a run."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.openstack.cloud import CloudError

# Runs in the environment that has the library for the stream.
_READER = Path(__file__).with_name("read_stream.py")
_PASSED, _SKIPPED = ("success", "xfail"), ("skip",)


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    status: str
    seconds: float
    # The traceback and the log of a failed test, the reason of a skipped one.
    text: str


@dataclass(frozen=True, slots=True)
class Results:
    tests: tuple[Case, ...]

    @property
    def passed(self) -> list[Case]:
        return [test for test in self.tests if test.status in _PASSED]

    @property
    def skipped(self) -> list[Case]:
        return [test for test in self.tests if test.status in _SKIPPED]

    @property
    def failed(self) -> list[Case]:
        """Return all other tests, including one that began and never ended."""
        return [test for test in self.tests if test.status not in (*_PASSED, *_SKIPPED)]

    def summary(self) -> str:
        return f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"

    def report(self) -> str:
        """Return a line for each test, the whole text of those that did not pass, and the numbers."""
        lines = [f"{test.status:<10} {test.seconds:7.1f} s  {test.id}" for test in self.tests]
        for test in (*self.failed, *self.skipped):
            lines += ["", f"---- {test.status}: {test.id}", test.text]
        return "\n".join([*lines, "", self.summary()])


def read_results(venv: Path, stream: Path) -> Results:
    """Read a run's subunit stream."""
    command = [str(venv / "bin" / "python"), str(_READER), str(stream)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise CloudError(f"The results in {stream} cannot be read:\n{result.stderr}")
    return Results(tuple(Case(**row) for row in json.loads(result.stdout)))
