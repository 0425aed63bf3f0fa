"""Diagnostics of a failed run: the tables, the database's sessions, and the logs and stacks of the programs.

    with kept_when_wrong(stage, "start after 3 restarted", programs):
        ...

The programs must still run while this is collected: the lock waits are gone once they stop.
"""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import text

from tests.harness.programs import STACKS_TOLD
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.harness.programs import Program
    from tests.harness.stage import Stage

SESSIONS = {
    "postgresql": ("SELECT * FROM pg_stat_activity WHERE datname = current_database()", "SELECT * FROM pg_locks"),
    "mysql": ("SHOW FULL PROCESSLIST", "SHOW ENGINE INNODB STATUS"),
    "sqlite": (),
}
"""The queries that list a database's sessions and its lock waits."""


@cache
def evidence_folder() -> Path:
    """Return the folder of this run; the first call creates it, and it remains after the run."""
    return Path(tempfile.mkdtemp(prefix="leasehold-fault-kept-"))


@contextmanager
def kept_when_wrong(stage: Stage, name: str, programs: Sequence[Program]) -> Iterator[None]:
    """Save the diagnostics when the block raises AssertionError, and add the folder's name to the message."""
    begun = time.time()
    try:
        yield
    except AssertionError as error:
        folder = (stage.evidence or evidence_folder()) / name.replace(" ", "-").replace(":", "-")
        folder.mkdir(parents=True, exist_ok=True)
        _keep(stage, folder, programs, begun)
        (folder / "trouble").write_text(f"{error}\n")
        message = f"{error}\nWhat there was is kept in {folder}"
        raise AssertionError(message) from error


def _keep(stage: Stage, folder: Path, programs: Sequence[Program], begun: float) -> None:
    """Save tables and sessions first, because they keep changing."""
    (folder / "tables.json").write_text(json.dumps(stage.rows(), indent=1, default=str))
    (folder / "sessions.json").write_text(json.dumps(_sessions(stage), indent=1, default=str))
    for program in programs:
        tell_stacks(program)
    files = {file for program in programs for file in (program.log, program.plan.log) if file.exists()}
    for file in stage.folder.iterdir():
        if file.suffix in (".log", ".steps") and file.stat().st_mtime >= begun:
            files.add(file)
    for file in files:
        shutil.copy(file, folder)


def _sessions(stage: Stage) -> list[list[dict[str, object]]]:
    queries = SESSIONS[stage.world.engine.dialect.name]
    with stage.world.service.db.reading() as connection:
        return [[dict(row) for row in connection.execute(text(query)).mappings()] for query in queries]


def tell_stacks(program: Program) -> bytes:
    """Make a running program write the stacks of its threads to its log, and return what it wrote since.

    A stopped or dead one cannot.
    """
    if not program.alive or program.stands_still():
        return b""
    before = len(program.log.read_bytes())
    program.signal(signal.SIGUSR1)
    wait_for(lambda: STACKS_TOLD in program.log.read_bytes()[before:])
    return program.log.read_bytes()[before:]
