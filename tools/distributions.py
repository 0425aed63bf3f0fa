"""Builds the source distributions and the wheels of this tree. Usage: tools/distributions.py FOLDER.

A wheel is built from its source distribution, so that is known to be complete. The same tree gives the same bytes.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).parent.parent
PROJECTS = (".", "client", "console", "nova-filter")


def main(folder: str) -> int:
    """Build all of them into a folder, and name the files."""
    target = Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    for project in PROJECTS:
        for path in build(ROOT / project, target):
            print(path)
    return 0


def build(project: Path, target: Path) -> tuple[Path, Path]:
    """Build the distributions of one project, and return the source distribution and the wheel."""
    with chdir(project):
        source = target / build_sdist(str(target))
    with tempfile.TemporaryDirectory() as scratch:
        shutil.unpack_archive(source, scratch)
        with chdir(Path(scratch) / source.name.removesuffix(".tar.gz")):
            return source, target / build_wheel(str(target))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
