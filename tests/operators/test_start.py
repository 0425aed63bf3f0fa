"""What a program says when it cannot start, and whether another try may help."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.processes import BIN
from tests.servers import free_port

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("program", ["leasehold-api", "leasehold-manager"])
@pytest.mark.parametrize("driver", ["mysql+pymysql", "postgresql+psycopg"])
def test_a_database_that_is_away_is_said_in_a_sentence_and_may_be_tried_again(
    program: str, driver: str, tmp_path: Path
) -> None:
    config = tmp_path / "leasehold.conf"
    url = f"{driver}://leasehold:a-secret@127.0.0.1:{free_port()}/leasehold"
    config.write_text(f"[database]\nconnection = {url}\n[cloud]\ndriver = sandbox\n[api]\nauth_strategy = none\n")
    command = [str(BIN / program), "--config-file", str(config)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert f"{program}: The database {url.replace('a-secret', '***')} cannot be used: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "a-secret" not in ended.stderr + ended.stdout
