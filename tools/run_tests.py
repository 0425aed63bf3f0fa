"""Runs the whole test suite: the tests on an OpenStack, and beside them all others. Usage: tools/run_tests.py WORKERS.

Both parts wait more than they compute: for the clock, for a cloud, for a database that comes back. They share no file
and no server. Two processes run the tests on an OpenStack, each on a cloud of its own, file by file. They take longest,
and have the higher priority. Their output follows that of the others, which WORKERS processes run.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTEST = (sys.executable, "-m", "pytest", "--durations=40")
# In the order of collection: that of the numbers of tests would begin the longest file last.
TWO_CLOUDS = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
LOWER_PRIORITY = ("nice", "-n", "10")


def main(workers: str) -> int:
    """Run both parts to their ends; returns the exit status of the first that failed, or 0."""
    parts: list[subprocess.Popen[bytes]] = []
    _pass_signals_on(parts)
    with tempfile.TemporaryFile() as output:
        parts.append(
            subprocess.Popen([*PYTEST, "-m", "openstack", *TWO_CLOUDS], stdout=output, stderr=subprocess.STDOUT)
        )
        others = [*PYTEST, "-m", "not openstack", "-n", workers, "--dist", "worksteal"]
        parts.append(subprocess.Popen([*LOWER_PRIORITY, *others]))
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
