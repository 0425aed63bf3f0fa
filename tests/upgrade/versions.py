"""Runs the programs of a version: of this one, or of one that is installed in a folder."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.processes import PATH, running

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from tests.processes import Program

PROGRAMS = ("leasehold-api", "leasehold-manager")
OPTIONS = {"manager": {"open_ended_seconds": 86400, "alarm_seconds": 5}}
"""There are leases without an end, and alarms are checked soon."""


@dataclass(frozen=True)
class Version:
    """A version on a database, with the sandbox as its cloud; `folder` is None for this version."""

    folder: Path | None
    database_url: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which its programs are found, and what they import."""
        if self.folder is None:
            return {"PATH": PATH}
        return {"PATH": f"{self.folder}/bin:{PATH}", "PYTHONPATH": str(self.folder)}

    def manage(self, *arguments: str) -> str:
        """Run its `leasehold-manage`, and return what it prints; raises AssertionError if it fails."""
        done = subprocess.run(
            ["leasehold-manage", "--database-url", self.database_url, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def start(self, stack: ExitStack) -> list[Program]:
        """Start its API and its manager until the stack is closed."""
        return [
            stack.enter_context(
                running(name, database_url=self.database_url, options=OPTIONS, environment=self.environment)
            )
            for name in PROGRAMS
        ]
