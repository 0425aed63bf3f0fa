"""The folder of temporary files of a test run: in memory if there is room, because a disk makes commits wait.

MariaDB and PostgreSQL flush every commit as in production, and SQLite when its last connection closes. On a disk those
flushes take most of the time of the tests that need a database.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from multiprocessing.util import Finalize
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it.
_PREFIX = "leasehold-tests-"
_NEEDED = 6 << 30
"""Free bytes that the folder must have: several times what a run of everything keeps at one time."""


def keep_in_memory() -> Path | None:
    """Make a folder in memory for the temporary files of this process and its children; None leaves them on the disk.

    They stay on the disk if `TMPDIR` is set, or if there is no file system in memory with room. The folders of runs
    that have ended are removed.
    """
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    _remove_those_of_ended_runs()
    if shutil.disk_usage(_MEMORY).free < _NEEDED or _available_memory() < _NEEDED:
        return None
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_MEMORY))
    # The database servers run as other users, who have to reach their folders in this one.
    folder.chmod(0o711)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return folder


def remove_at_exit(folder: Path) -> None:
    """Remove the folder when this process ends, after multiprocessing has removed its own folder in it (at -100)."""
    Finalize(None, shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, exitpriority=-200)


def _remove_those_of_ended_runs() -> None:
    for folder in _MEMORY.glob(f"{_PREFIX}*-*"):
        if not Path("/proc", folder.name.removeprefix(_PREFIX).partition("-")[0]).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _available_memory() -> int:
    """Return the bytes of memory that programs may still take; 0 where Linux does not say."""
    with contextlib.suppress(OSError), Path("/proc/meminfo").open() as lines:
        for line in lines:
            name, _, amount = line.partition(":")
            if name == "MemAvailable":
                return int(amount.split()[0]) << 10
    return 0
