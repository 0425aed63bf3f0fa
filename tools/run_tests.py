"""Runs the whole test suite, and builds the documentation site with its pictures. Usage: tools/run_tests.py WORKERS.

The tests on an OpenStack are one part, and all others, which run at the same time, are another.

Both parts wait more than they compute: for the clock, for a cloud, for a database that comes back. They share no file
and no server. Two processes run the tests on an OpenStack, each on a cloud of its own, file by file. They take longest,
and have the higher priority. Their output follows that of the others, which WORKERS processes run. When the others have
passed, the site is built of the pictures of the console that they have taken, while the tests on an OpenStack go on.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTEST = (sys.executable, "-m", "pytest", "--durations=40")
ON_OPENSTACK = ("tests/openstack", "tests/contract")
"""The folders of all tests on an OpenStack: to collect every test takes 20 seconds of processor in each process."""
# In the order of collection: that of the numbers of tests would begin the longest file last.
TWO_CLOUDS = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
LOWER_PRIORITY = ("nice", "-n", "10")
SITE = (sys.executable, "-m", "docs._site")
PICTURES = Path(__file__).parent.parent / "build" / "pictures"
"""Where the tests of the console put their pictures, and the site looks for them."""


def main(workers: str) -> int:
    """Run all parts to their ends; returns the exit status of the first that failed, or 0."""
    parts: list[subprocess.Popen[bytes]] = []
    _pass_signals_on(parts)
    # No picture of an earlier run may get into the site.
    shutil.rmtree(PICTURES, ignore_errors=True)
    pictures = {**os.environ, "LEASEHOLD_PICTURES": str(PICTURES)}
    with tempfile.TemporaryFile() as output:
        parts.append(
            subprocess.Popen(
                [*PYTEST, "-m", "openstack", *TWO_CLOUDS, *ON_OPENSTACK], stdout=output, stderr=subprocess.STDOUT
            )
        )
        others = [*PYTEST, "-m", "not openstack", "-n", workers, "--dist", "worksteal"]
        parts.append(subprocess.Popen([*LOWER_PRIORITY, *others], env=pictures))
        if not parts[-1].wait():
            parts.append(subprocess.Popen([*LOWER_PRIORITY, *SITE], env=pictures))
        statuses = [part.wait() for part in parts]
        _show(output)
    return next((status for status in statuses if status), 0)


def _pass_signals_on(parts: Sequence[subprocess.Popen[bytes]]) -> None:
    """Let the parts stop their servers when this program is to stop: pytest does that when it is interrupted.

    To be called before they start, because a program that starts with SIGINT ignored cannot be interrupted.
    """

    def interrupt(*_: Any) -> None:
        for part in parts:
            part.send_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, interrupt)
    # A terminal interrupts the parts as well.
    signal.signal(signal.SIGINT, lambda *_: None)


def _show(output: IO[bytes]) -> None:
    sys.stdout.write("\nThe tests on an OpenStack, which ran at the same time:\n")
    sys.stdout.flush()
    output.seek(0)
    shutil.copyfileobj(output, sys.stdout.buffer)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
