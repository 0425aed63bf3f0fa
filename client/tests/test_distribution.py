"""What is installed: the types of the library, and both command lines."""

from __future__ import annotations

import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from tests.processes import BIN

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

CLIENT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    build: list[str | Path] = [BIN / "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=CLIENT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    with ZipFile(built) as found:
        yield found


def test_the_types_of_the_library_and_all_modules_are_in_the_wheel(wheel: ZipFile) -> None:
    source = CLIENT / "src"
    ours = {str(each.relative_to(source)) for each in source.rglob("*.py")}
    assert {"leasehold_client/py.typed", *ours} <= set(wheel.namelist())


def test_both_command_lines_are_found(wheel: ZipFile) -> None:
    (name,) = (each for each in wheel.namelist() if each.endswith("/entry_points.txt"))
    groups = ConfigParser(delimiters=("=",))
    groups.read_string(wheel.read(name).decode())
    assert groups["console_scripts"]["leasehold"] == "leasehold_client.cli.app:main"
    assert groups["openstack.cli.extension"]["leasehold"] == "leasehold_client.cli.osc"
