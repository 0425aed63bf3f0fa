"""The oldest version whose databases are upgraded (docs/decisions/0120), from the history of this repository."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import ZipFile

from tests.processes import BIN
from tests.test_house import ROOT

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "6dbd32773209a513aaeb9ac4ffc50f6a74693070"
REVISION = "0054"
"""The schema that it makes and needs."""
PROJECTS = (".", "nova-filter")
"""The service, and the filter that its sandbox decides with."""


def install_oldest_version(folder: Path) -> Path:
    """Install it into a folder beside the packages that this version needs as well, and return that folder.

    Its programs are in `bin`; what they import is found if the folder is in PYTHONPATH. Raises AssertionError in a
    clone without the history.
    """
    source, there = folder / "source", folder / "installed"
    archive = subprocess.run(["git", "archive", "--format=zip", COMMIT], cwd=ROOT, check=False, capture_output=True)
    assert archive.returncode == 0, f"The whole history is needed (git fetch --unshallow): {archive.stderr.decode()}"
    with ZipFile(BytesIO(archive.stdout)) as tree:
        tree.extractall(source)
    options = ["--no-cache", "--offline", "--no-deps", "--no-build-isolation", "--python", sys.executable]
    uv = [str(BIN / "uv"), "pip", "install", *options, "--target", str(there)]
    subprocess.run([*uv, *(str(source / each) for each in PROJECTS)], check=True, capture_output=True)
    return there
