"""Every thread reads the correct exit code of a forked process, even when several ask at the same moment."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.harness.child import Child
from tests.processes import wait_for

THREADS = 8
CHILDREN = 5


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def codes_of(child: Child) -> set[int | None]:
    """Return the codes that several threads read which ask at once for the code of an ended process."""
    together = Barrier(THREADS)
    wait_for(lambda: not Path(f"/proc/{child.pid}").exists())

    def ask() -> int | None:
        together.wait()
        wait_for(lambda: child.exit_code is not None)
        return child.exit_code

    with ThreadPoolExecutor(THREADS) as threads:
        asked = [threads.submit(ask) for _ in range(THREADS)]
    child.close()
    return {each.result() for each in asked}


@pytest.mark.slow
def test_everybody_who_asks_learns_by_which_signal_a_process_ended() -> None:
    """Without a lock one thread reads the code and the others 255, which once counted as two wrong kills."""
    assert [codes_of(Child(f"child {number}", die)) for number in range(CHILDREN)] == [{-signal.SIGKILL}] * CHILDREN
