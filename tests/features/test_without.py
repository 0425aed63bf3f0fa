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


PROGRAM = """
import sys
from importlib.util import find_spec

import pytest

import leasehold.cmd.web

assert not find_spec("leasehold.features.{name}"), leasehold.__path__
sys.exit(pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_core_does_not_miss_a_feature(name: str, tmp_path: Path) -> None:
    (source,) = leasehold.__path__
    copy = tmp_path / "leasehold"
    shutil.copytree(source, copy)
    shutil.rmtree(copy / "features" / name)
    registry = copy / "features" / "registry.py"
    text, removed = re.subn(rf'"{name}",\s*', "", registry.read_text())
    assert removed == 1
    registry.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=name), *CORE],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
