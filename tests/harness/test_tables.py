"""The harness compares tables that belong together, so it reads all of them as they were at one moment."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.db.engine import writing
from leasehold.db.tables import leases, outbox
from tests.harness import tables
from tests.harness.scenes import grant
from tests.harness.stage import new_stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection

pytestmark = pytest.mark.slow


def test_no_change_is_seen_by_half(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "programs").mkdir()
    with new_stage(database_url, tmp_path / "programs", tmp_path / "kept") as stage:
        grant(stage.world, 1, 2)

        def change() -> None:
            with writing(stage.world.engine) as connection:
                connection.execute(update(leases).values(name="changed"))
                connection.execute(update(outbox).values(event_type="changed"))

        writer, read = Thread(target=change), tables._rows

        def changed_after(connection: Connection, table: str) -> Sequence[Any]:
            found = read(connection, table)
            if table == leases.name:
                writer.start()
                # MariaDB lets it wait until all tables are read.
                writer.join(1)
            return found

        with monkeypatch.context() as patched:
            patched.setattr(tables, "_rows", changed_after)
            seen = tables.read_tables(stage.url, (leases.name, outbox.name))
        writer.join()
        assert "changed" not in {row.name for row in seen["leases"]}
        assert "changed" not in {row.event_type for row in seen["outbox"]}
        after = tables.read_tables(stage.url, (leases.name, outbox.name))
        assert {row.event_type for row in after["outbox"]} == {row.name for row in after["leases"]} == {"changed"}
