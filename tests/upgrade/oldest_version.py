"""The oldest version whose databases are upgraded (docs/decisions/0120), from an archive beside this file.

It was made by `git archive 6dbd327 src pyproject.toml README.md LICENSE nova-filter | xz -9e`, because a clone need not
have the whole history, and a tree without Git has none.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from tests.processes import BIN

ARCHIVE = Path(__file__).with_name("6dbd327.tar.xz")
REVISION = "0054"
"""The schema that it makes and needs."""
PROJECTS = (".", "nova-filter")
"""The service, and the filter that its sandbox decides with."""


def install_oldest_version(folder: Path) -> Path:
    """Install it into a folder beside the packages that this version needs as well, and return that folder.

    Its programs are in `bin`; what they import is found if the folder is in PYTHONPATH.
    """
    source, there = folder / "source", folder / "installed"
    with tarfile.open(ARCHIVE) as tree:
        tree.extractall(source)  # noqa: S202 - it is ours
    options = ["--no-cache", "--offline", "--no-deps", "--no-build-isolation", "--python", sys.executable]
    uv = [str(BIN / "uv"), "pip", "install", *options, "--target", str(there)]
    subprocess.run([*uv, *(str(source / each) for each in PROJECTS)], check=True, capture_output=True)
    return there
