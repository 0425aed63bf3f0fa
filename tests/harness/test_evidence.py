"""A failed run leaves enough diagnostics to find the cause without a second run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness.evidence import kept_when_wrong
from tests.harness.programs import launched
from tests.harness.scenes import grant
from tests.harness.stage import SHORT_CLAIMS, new_stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.stage import Stage

pytestmark = pytest.mark.slow


@pytest.fixture
def stage(database_url: str, tmp_path: Path) -> Iterator[Stage]:
    (tmp_path / "programs").mkdir()
    with new_stage(database_url, tmp_path / "programs", tmp_path / "kept") as made:
        yield made


def test_what_there_was_is_kept_in_the_folder_that_the_message_names(stage: Stage, tmp_path: Path) -> None:
    lease = grant(stage.world, 1, 2)
    folder = tmp_path / "kept" / "start-after-3-restarted"
    with launched("leasehold-manager", stage.folder, stage.url, options=SHORT_CLAIMS) as manager:
        with (
            pytest.raises(AssertionError, match=f"It hangs.\n.* is kept in {folder}"),
            kept_when_wrong(stage, "start after 3 restarted", [manager]),
        ):
            raise AssertionError("It hangs.")
        assert manager.alive
    assert (folder / "trouble").read_text() == "It hangs.\n"
    tables = json.loads((folder / "tables.json").read_text())
    assert [row["id"] for row in tables["leases"]] == [lease.id]
    assert {row["subject"] for row in tables["tasks"] if row["kind"] == "lease"} == {lease.id}
    assert "cmp-01" in {row["service_host"] for row in tables["sandbox_hypervisors"]}
    sessions = json.loads((folder / "sessions.json").read_text())
    assert all(sessions)
    assert bool(sessions) == (stage.world.engine.dialect.name != "sqlite")
    log = (folder / manager.log.name).read_text()
    assert "_claim_loop" in log, log


def test_nothing_is_kept_of_what_is_right(stage: Stage, tmp_path: Path) -> None:
    with kept_when_wrong(stage, "start after 3 restarted", []):
        stage.check()
    assert not (tmp_path / "kept").exists()
