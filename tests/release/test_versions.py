"""All distributions of a release have one version, which is the one that programs and pages show."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from leasehold import conf
from leasehold.cmd import manage, status
from leasehold_client.cli.app import LeaseholdApp
from tests.release.distributions import PROJECTS, declared
from tests.test_house import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VERSION = declared("leasehold")["version"]


@pytest.mark.parametrize("name", PROJECTS)
def test_each_distribution_has_the_version_of_the_release(name: str) -> None:
    assert declared(name)["version"] == VERSION
    assert version(name) == VERSION, "tools/bootstrap installs it again"


@pytest.mark.parametrize("name", PROJECTS)
def test_a_distribution_that_needs_another_of_ours_needs_that_of_its_release(name: str) -> None:
    needed = [Requirement(each) for each in declared(name)["dependencies"]]
    assert {str(each.specifier) for each in needed if each.name in PROJECTS} <= {f"=={VERSION}"}


def test_the_newest_entry_of_the_changelog_is_the_release_or_what_comes_after_it() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1].rstrip(":") in {VERSION, "Unreleased"}


def test_the_guide_installs_it() -> None:
    guide = (ROOT / "docs" / "operators" / "install.md").read_text()
    assert set(re.findall(r"leasehold-(\d[\w.]*)", guide)) == {VERSION}


def test_services_say_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        conf.load(["--version"], prog="leasehold-api")
    assert capsys.readouterr().out == f"{VERSION}\n"


@pytest.mark.parametrize("run", [manage.run, status.run])
def test_commands_of_operators_say_it(run: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        run(["--version"])
    assert capsys.readouterr().out == f"{VERSION}\n"


def test_the_client_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        LeaseholdApp(["--version"]).run(["--version"])
    assert capsys.readouterr().out.split()[1:] == [VERSION]
