"""A service that gets a stop signal during its start ends with 0, like a running one, and leaves no claim."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.engine import open_engine, reading
from leasehold.db.tables import tasks
from tests.processes import prepare_database, running, wait_for

if TYPE_CHECKING:
    from tests.processes import Program

pytestmark = pytest.mark.slow

WITHIN = 60.0


def loads(program: Program) -> bool:
    """Return whether the program has begun to load its imports."""
    return "/sqlalchemy/" in Path(f"/proc/{program.process.pid}/maps").read_text()


@pytest.mark.parametrize(
    ("number", "after"),
    [*((signal.SIGTERM, after) for after in (0.0, 0.2, 0.5, 1.0, 2.0)), (signal.SIGINT, 0.2)],
)
@pytest.mark.parametrize("name", ["leasehold-api", "leasehold-manager", "leasehold-standalone"])
def test_a_service_that_is_stopped_while_it_starts_ends_with_0(
    name: str, number: signal.Signals, after: float, tmp_path: Path
) -> None:
    """The delays are samples: on a slow machine all are within the start, on a fast one the last ones are not."""
    url = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(url)
    with running(name, database_url=url, healthy=False) as program:
        wait_for(lambda: loads(program), WITHIN)
        time.sleep(after)
        program.process.send_signal(number)
        assert program.process.wait(WITHIN) == 0, program.log.read_text()
    engine = open_engine(url)
    with reading(engine) as connection:
        assert not connection.execute(select(tasks.c.id).where(tasks.c.claimed_by.is_not(None))).all()
    engine.dispose()
