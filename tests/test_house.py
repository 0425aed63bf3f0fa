"""The house itself: the pins, the bootstrap and the database servers of the suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.servers import Server, new_database, running_mariadb, running_postgresql

ROOT = Path(__file__).parent.parent
SCRIPTS = ("tools/bootstrap", ".ci/run")
PINS = ("runtime", "dev", "tools")
PIN = re.compile(r"^(?P<name>[a-z0-9-]+)(\[[a-z,-]+\])?==(?P<version>\S+)(?P<marker> ; [^\\]+)? \\$", re.MULTILINE)


def pins(name: str) -> dict[tuple[str, str], str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return {(pin["name"], pin["marker"] or ""): pin["version"] for pin in PIN.finditer(text)}


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    shell = "bash" if script == ".ci/run" else "sh"
    subprocess.run([shell, "-n", script], cwd=ROOT, check=True)


def test_bootstrap_names_its_modes_when_asked_for_another() -> None:
    answer = subprocess.run(["tools/bootstrap", "else"], cwd=ROOT, check=False, capture_output=True, text=True)
    assert answer.returncode == 1
    assert "runtime, check, test" in answer.stderr


@pytest.mark.parametrize("name", PINS)
def test_every_requirement_is_exact_and_hashed(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    requirements = re.findall(r"^[^\s#].*(?:\n    --hash=.*)*", text, re.MULTILINE)
    assert requirements
    for requirement in requirements:
        first, *hashes = requirement.splitlines()
        assert PIN.match(first), first
        assert hashes, first


@pytest.mark.parametrize("name", PINS)
def test_pins_name_no_index_and_no_machine(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert not re.findall(r"://|--index-url|--extra-index-url|--find-links|-e |^/", text, re.MULTILINE)


def test_what_is_tested_is_what_runs() -> None:
    runtime, dev = pins("runtime"), pins("dev")
    assert {pin: dev.get(pin) for pin in runtime} == runtime


def test_the_back_end_is_the_pinned_one() -> None:
    pinned = {name: version for (name, _), version in pins("tools").items()}
    for project in ("pyproject.toml", "nova-filter/pyproject.toml"):
        assert f'requires = ["hatchling=={pinned["hatchling"]}"]' in (ROOT / project).read_text()


def test_resource_types_are_found_by_their_v1_names() -> None:
    names = {entry.name for entry in entry_points(group="leasehold.resource_types")}
    assert names >= {"physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip"}


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Name the lock\n\nNobody knew which.", None),
        (f"{'x' * 72}\n\nWhy.", None),
        (f"{'x' * 73}\n\nWhy.", "73 characters"),
        ("Name the lock", "why"),
        ("Name the lock\n\n \n", "why"),
        ("Name the lock\nNobody knew which.", "blank"),
    ],
)
def test_commit_messages_are_checked(tmp_path: Path, message: str, fault: str | None) -> None:
    file = tmp_path / "message"
    file.write_text(message)
    command = [sys.executable, "tools/check_commits.py", "--file", str(file)]
    answer = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert answer.returncode == (fault is not None)
    assert (fault or "") in answer.stdout


def answers(url: str) -> bool:
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            return bool(connection.execute(sa.text("SELECT 1")).scalar() == 1)
    finally:
        engine.dispose()


def test_database_url_is_an_empty_database(database_url: str) -> None:
    assert answers(database_url)
    engine = sa.create_engine(database_url)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()


@pytest.mark.servers
@pytest.mark.parametrize("run", [running_mariadb, running_postgresql], ids=["mariadb", "postgresql"])
def test_a_killed_server_comes_back_with_what_was_committed(run: type[Server]) -> None:
    with run() as server:
        url = server.create_database()
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            connection.execute(sa.text("CREATE TABLE t (n INTEGER)"))
            connection.execute(sa.text("INSERT INTO t VALUES (7)"))
        server.kill()
        with pytest.raises(sa.exc.OperationalError):
            answers(url)
        server.start()
        with engine.begin() as connection:
            assert connection.execute(sa.text("SELECT n FROM t")).scalar() == 7
        server.drop_database(url)
        folder = server.folder
    assert not folder.exists()


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_database_of_its_own_for_programs_outside_pytest(kind: str) -> None:
    with new_database(kind) as url:
        assert answers(url)
    with pytest.raises(sa.exc.OperationalError):
        answers(url)
