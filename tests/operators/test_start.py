"""How a program starts; its message and exit status when it cannot, which say whether a retry may help."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from leasehold.db import schema
from leasehold.db.engine import open_engine, reading
from leasehold.db.pool import read_pools
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


PLUGIN = """
from leasehold.resource_types.driver import Driver
from leasehold.resource_types.kind import Kind
from leasehold.resource_types.registry import ResourceType

class BadgeKind(Kind):
    name = "site:badge"
    pool = "badges"

    def parse(self, raw):
        raise NotImplementedError

    def allocate(self, request, search):
        raise NotImplementedError

class BadgeDriver(Driver):
    def converge(self, cloud, job, wanted):
        raise NotImplementedError

def load(_options):
    return ResourceType(BadgeKind(), BadgeDriver())
"""
SERVICE = """
import sys
from threading import Event
from leasehold import conf
from leasehold.cmd.compose import build_service
build_service(conf.load(["--config-file", sys.argv[1]]), Event())
"""


def test_the_pool_of_a_plugin_is_there_when_a_service_has_started(tmp_path: Path) -> None:
    (tmp_path / "site_badges.py").write_text(PLUGIN)
    info = tmp_path / "site_badges-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: site-badges\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[leasehold.resource_types]\nsite:badge = site_badges:load\n")
    url = f"sqlite:///{tmp_path}/leasehold.db"
    engine = open_engine(url)
    schema.upgrade(engine)
    config = tmp_path / "leasehold.conf"
    plugins = "[manager]\nplugins = physical:host, site:badge\n"
    cleaning = "[DEFAULT]\ncleaning_time_by_type = site:badge=10\nlead_time_by_type = site:badge=60\n"
    config.write_text(f"{cleaning}[database]\nconnection = {url}\n[cloud]\ndriver = sandbox\n{plugins}")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", SERVICE, str(config)], env=environment, check=True, timeout=120)
    with reading(engine) as connection:
        assert read_pools(connection).keys() == {"hosts", "floatingips", "storage", "badges"}
    engine.dispose()
