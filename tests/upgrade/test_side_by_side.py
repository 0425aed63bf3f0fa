"""An upgrade under load: old processes keep running during the schema upgrade, and beside new ones until they stop."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests
from sqlalchemy import text

from leasehold.cloud.sandbox import seed
from leasehold.db.engine import open_engine, reading
from tests.harness.database_checks import database_problems
from tests.harness.tables import read_tables
from tests.processes import as_text, prepare_database, running, wait_for
from tests.upgrade.clients import VERSION, WITHIN, clients
from tests.upgrade.next_version import make_next_version

if TYPE_CHECKING:
    from tests.processes import Program

CLIENTS = 3
ROUNDS = 2
PROGRAMS = ("leasehold-api", "leasehold-manager")
BIN = Path(sys.executable).parent


def manage(config: Path, folder: Path | None, *arguments: str) -> str:
    """Run `leasehold-manage` of the version in a folder (None: this version) and return its output."""
    done = subprocess.run(
        [BIN / "leasehold-manage", "--config-file", config, *arguments],
        env={"PATH": f"{BIN}:/usr/bin:/bin", **path_of(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def path_of(folder: Path | None) -> dict[str, str]:
    return {} if folder is None else {"PYTHONPATH": str(folder)}


def start(stack: ExitStack, url: str, folder: Path | None = None) -> list[Program]:
    """Start an API and a manager of the version in a folder (None: this version) until the stack is closed."""
    return [stack.enter_context(running(name, database_url=url, environment=path_of(folder))) for name in PROGRAMS]


def notes(url: str) -> set[str | None]:
    """Return the values that the code which created each lease wrote into the new column: "new", or None if unknown."""
    engine = open_engine(url)
    with reading(engine) as connection:
        found = set(connection.scalars(text("SELECT note FROM leases")))
    engine.dispose()
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_fails_and_nothing_is_lost_while_versions_run_side_by_side(database_url: str, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    revision = make_next_version(newer)
    config = tmp_path / "leasehold.conf"
    config.write_text(as_text({"database": {"connection": database_url}, "cloud": {"driver": "sandbox"}}))
    prepare_database(database_url)
    with ExitStack() as stack:
        old = stack.enter_context(ExitStack())
        old_api, old_manager = start(old, database_url)
        for hostname, _ in seed.SUGGESTED_HOSTS:
            requests.post(f"{old_api.url}/os-hosts", json={"name": hostname}, timeout=WITHIN).raise_for_status()
        crowd = stack.enter_context(clients([old_api.url], CLIENTS))
        crowd.take_turns(ROUNDS)

        assert manage(config, newer, "db", "upgrade") == f"The schema is {revision}.\n"
        crowd.take_turns(ROUNDS)
        said = f"The schema is {revision}, which is newer than this version and works with it.\n"
        assert manage(config, None, "db", "check") == said

        api, _ = start(stack, database_url, newer)
        crowd.urls = [old_api.url, api.url]
        crowd.take_turns(ROUNDS)
        assert old_manager.stop() == 0
        crowd.take_turns(ROUNDS)
        crowd.urls = [api.url]
        crowd.take_turns(ROUNDS)
        assert old_api.stop() == 0
        crowd.take_turns(ROUNDS)

        crowd.stop()
        wait_for(lambda: set(statuses(api)) == {"ACTIVE"}, WITHIN)
        listed = {lease["id"] for lease in leases(api)}
        assert crowd.kept <= listed
        assert not crowd.deleted & listed
    assert crowd.kept
    assert crowd.deleted
    assert notes(database_url) == {None, "new"}
    assert database_problems(read_tables(database_url), datetime.now(UTC)) == []
    assert manage(config, newer, "audit") == "No differences between the database and the cloud.\n"


def leases(api: Program) -> list[dict[str, str]]:
    found: list[dict[str, str]] = requests.get(f"{api.url}/leases", headers=VERSION, timeout=WITHIN).json()["leases"]
    return found


def statuses(api: Program) -> list[str]:
    return [lease["status"] for lease in leases(api)]
