"""The metrics of real processes: the manager's own port, and one page for several processes."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
import requests

from tests.processes import BIN, prepare_database, running, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(url)
    return url


def read(where: str) -> str:
    try:
        return requests.get(f"{where}/metrics", timeout=5).text
    except requests.ConnectionError:
        return ""


def test_the_manager_answers_on_its_port(url: str) -> None:
    port = free_port()
    with running("leasehold-manager", database_url=url, options={"manager": {"metrics_port": port}}):
        wait_for(lambda: "leasehold_database_up 1.0" in read(f"http://127.0.0.1:{port}"))
        page = read(f"http://127.0.0.1:{port}")
    assert 'leasehold_tasks_waiting{state="due"} 0.0' in page
    assert "process_resident_memory_bytes" in page


def test_a_port_that_is_taken_is_said_in_a_sentence(url: str, tmp_path: Path) -> None:
    port = free_port()
    with running("leasehold-manager", database_url=url, options={"manager": {"metrics_port": port}}):
        wait_for(lambda: read(f"http://127.0.0.1:{port}"))
        config = tmp_path / "second.conf"
        sections = {"database": f"connection = {url}", "cloud": "driver = sandbox", "manager": f"metrics_port = {port}"}
        config.write_text("".join(f"[{name}]\n{line}\n" for name, line in sections.items()))
        command = [str(BIN / "leasehold-manager"), "--config-file", str(config)]
        second = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert second.returncode == 2
    assert f"Prometheus cannot be answered on 127.0.0.1:{port}: Address already in use." in second.stderr
    assert "Traceback" not in second.stderr


def test_processes_that_share_a_folder_answer_for_each_other(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    options = {"api": {"metrics": "true"}}
    environment = {"PROMETHEUS_MULTIPROC_DIR": str(folder)}
    with (
        running("leasehold-api", database_url=url, options=options, environment=environment) as one,
        running("leasehold-api", database_url=url, options=options, environment=environment) as other,
    ):
        for program in (one, other):
            requests.get(f"{program.url}/os-hosts", timeout=10).raise_for_status()
        counted = 'leasehold_requests_total{method="GET",route="/v1/os-hosts",status="200"} 2.0'
        assert counted in read(one.root)
        assert counted in read(other.root)
