"""`leasehold.wsgi`, loaded by an external WSGI server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import requests

from tests.processes import as_text, prepare_database, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

LIMIT = """
import json, leasehold.wsgi as module
from falcon import testing
answer = testing.TestClient(module.application).simulate_post(
    "/v1/leases", body="x" * 3000, host="localhost", headers={"Content-Type": "application/json"}
)
print(json.dumps([answer.status_code, module.arguments({"OS_LEASEHOLD_CONFIG_FILES": "a.conf; b.conf"})]))
"""
POOLS = """
from sqlalchemy import event, pool
opened = []
event.listen(pool.Pool, "connect", lambda connection, _: opened.append(connection))
event.listen(pool.Pool, "close", lambda connection, _: opened.remove(connection))
import leasehold.wsgi
assert not opened, opened
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two configuration files, of which the first is sufficient."""
    url = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(url)
    sections: dict[str, dict[str, object]] = {
        "DEFAULT": {"host": "127.0.0.1"},
        "api": {"auth_strategy": "none", "max_body": 2000},
        "database": {"connection": url},
        "cloud": {"driver": "sandbox"},
    }
    (tmp_path / "leasehold.conf").write_text(as_text(sections), encoding="utf-8")
    (tmp_path / "more.conf").write_text(as_text({"api": {"max_body": 4000}}), encoding="utf-8")
    return tmp_path


def run(program: str, folder: Path, files: str | None = "") -> subprocess.CompletedProcess[str]:
    """Run a program in the folder; the environment names the folder and the files in it, with None nothing."""
    named = {} if files is None else {"OS_LEASEHOLD_CONFIG_DIR": str(folder), "OS_LEASEHOLD_CONFIG_FILES": files}
    environment = {"PATH": os.environ["PATH"], **named}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_a_wsgi_server_serves_it(folder: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "waitress", f"--listen=127.0.0.1:{port}", "leasehold.wsgi:application"]
    environment = {"PATH": os.environ["PATH"], "OS_LEASEHOLD_CONFIG_DIR": str(folder)}
    with (folder / "log").open("wb") as log, subprocess.Popen(command, env=environment, stderr=log) as server:
        try:
            wait_for(lambda: server.poll() is not None or _answers(port))
            assert requests.get(f"http://127.0.0.1:{port}/v1/leases", timeout=30).json() == {"leases": []}
        finally:
            server.terminate()


def _answers(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/healthcheck", timeout=30).ok
    except requests.ConnectionError:
        return False


@pytest.mark.parametrize(
    ("files", "status"),
    [
        (None, 413),  # It looks where every program looks.
        ("", 413),
        ("leasehold.conf", 413),
        ("leasehold.conf;more.conf", 400),
        (" leasehold.conf ; more.conf; ", 400),
    ],
)
def test_the_environment_names_the_files_and_the_last_word_counts(folder: Path, files: str | None, status: int) -> None:
    done = run(LIMIT, folder, files)
    assert done.returncode == 0, done.stderr
    arguments = ["--config-file=/etc/leasehold/a.conf", "--config-file=/etc/leasehold/b.conf"]
    assert json.loads(done.stdout) == [status, arguments]


@pytest.mark.parametrize("files", ["absent.conf", "broken.conf"])
def test_what_cannot_be_used_ends_the_start_with_a_sentence(folder: Path, files: str) -> None:
    (folder / "broken.conf").write_text("[api]\nauth_strategy = nonsense\n", encoding="utf-8")
    done = run("import leasehold.wsgi", folder, f"leasehold.conf;{files}")
    assert done.returncode == 2
    assert done.stderr.startswith("leasehold-wsgi: ")
    assert "Traceback" not in done.stderr


def test_workers_that_are_forked_after_it_inherit_no_connection(folder: Path) -> None:
    done = run(POOLS, folder)
    assert done.returncode == 0, done.stderr
