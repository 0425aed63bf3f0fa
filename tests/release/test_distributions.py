"""What is in the wheels and the source distributions: what is needed, and nothing else; the same at each build."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.release.distributions import PROJECTS, build, declared
from tests.test_house import ROOT

pytestmark = pytest.mark.slow

LICENCE = "LICENSE"
OF_LIBRARIES = "src/leasehold_console/static/vendor/LICENSES"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"))


def stem(name: str) -> str:
    return f"{name.replace('-', '_')}-{declared(name)['version']}"


def wheel_of(dist: Path, name: str) -> Path:
    return dist / f"{stem(name)}-py3-none-any.whl"


def files_below(folder: Path) -> set[str]:
    """Return the files of the repository in a folder, also those that are not committed yet, relative to it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
    return {name for name in listed if (folder / name).exists()}


def test_there_is_one_of_each_kind_for_each_project(dist: Path) -> None:
    names = {f"{stem(name)}{end}" for name in PROJECTS for end in (".tar.gz", "-py3-none-any.whl")}
    assert {path.name for path in dist.iterdir()} == names


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_has_its_package_and_its_licence_and_nothing_else(dist: Path, name: str) -> None:
    with ZipFile(wheel_of(dist, name)) as wheel:
        found = set(wheel.namelist())
        licence = wheel.read(f"{stem(name)}.dist-info/licenses/{LICENCE}")
    package = name.replace("-", "_")
    wanted = files_below(ROOT / PROJECTS[name] / "src")
    assert f"{package}/py.typed" in wanted
    described = {"METADATA", "WHEEL", "RECORD", *(f"licenses/{each}" for each in declared(name)["license-files"])}
    described |= {"entry_points.txt"} if "scripts" in declared(name) else set()
    wanted |= {f"{stem(name)}.dist-info/{each}" for each in described}
    if name == "leasehold":
        wanted |= {f"{stem(name)}.data/data/share/leasehold/etc/{each}" for each in files_below(ROOT / "etc")}
    assert found == wanted
    assert licence == (ROOT / LICENCE).read_bytes()


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_does_not_depend_on_where_and_from_what_it_is_built(dist: Path, tmp_path: Path, name: str) -> None:
    """`dist` has the wheel of the source distribution, this is the one of the tree."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT / PROJECTS[name], check=True, capture_output=True, umask=0o077)
    (built,) = tmp_path.iterdir()
    assert built.read_bytes() == wheel_of(dist, name).read_bytes()


def test_a_source_distribution_is_the_same_at_each_build(dist: Path, tmp_path: Path) -> None:
    again = build(tmp_path)
    for path in dist.glob("*.tar.gz"):
        assert path.read_bytes() == (again / path.name).read_bytes()


@pytest.mark.parametrize("name", PROJECTS)
def test_a_source_distribution_has_no_tests(dist: Path, name: str) -> None:
    with tarfile.open(dist / f"{stem(name)}.tar.gz") as source:
        parts = {tuple(Path(each).parts[1:]) for each in source.getnames()}
    assert {"PKG-INFO", "pyproject.toml", "README.md", LICENCE} <= {first for first, *_ in parts}
    assert not [each for each in parts if "tests" in each]


def test_both_command_lines_of_the_client_are_found(dist: Path) -> None:
    with ZipFile(wheel_of(dist, "leasehold-client")) as wheel:
        text = wheel.read(f"{stem('leasehold-client')}.dist-info/entry_points.txt").decode()
    groups = ConfigParser(delimiters=("=",))
    groups.read_string(text)
    assert groups["console_scripts"]["leasehold"] == "leasehold_client.cli.app:main"
    assert groups["openstack.cli.extension"]["leasehold"] == "leasehold_client.cli.osc"
