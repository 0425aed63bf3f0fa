"""Deleting a feature's folder, and its name in the list, is deleting the feature: the core's tests pass without it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leasehold
from leasehold.features.registry import NAMES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parent.parent.parent
CORE = ("tests/v1/test_lifecycle.py", "tests/v1/test_resources.py")
"""Tests that need no feature: what Blazar's clients rely on."""


def run_without(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_core_does_not_miss_a_feature(name: str, tmp_path: Path) -> None:
    (source,) = leasehold.__path__
    copy = tmp_path / "leasehold"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(copy / "features" / name)
    registry = copy / "features" / "registry.py"
    text, removed = re.subn(rf'"{name}",\s*', "", registry.read_text())
    assert removed == 1
    registry.write_text(text)
    gone = run_without(tmp_path, "-c", f"import leasehold.cmd.web, leasehold.features.{name}")
    assert f"No module named 'leasehold.features.{name}'" in gone.stderr
    done = run_without(tmp_path, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *CORE)
    assert done.returncode == 0, done.stdout
