"""A program that fails is noticed, by its right exit code; a killed one can start again."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
import requests

from tests.harness import programs
from tests.harness.child import Child
from tests.harness.programs import API, MANAGER, Program, launched
from tests.processes import prepare_database, wait_for

pytestmark = pytest.mark.slow

THREADS = 8
CHILDREN = 5


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(made)
    return made


def test_a_program_that_does_not_start_fails_with_its_log(tmp_path: Path, url: str) -> None:
    wrong = launched(API, tmp_path, url, options={"api": {"threads": "many"}})
    with pytest.raises(AssertionError, match="ended by itself with 2"), wrong:
        pass


def test_a_program_that_ends_by_itself_fails(tmp_path: Path, url: str) -> None:
    manager = Program(MANAGER, tmp_path, url)
    manager.start()
    manager.signal(signal.SIGABRT)
    wait_for(lambda: not manager.alive)
    with pytest.raises(AssertionError, match="ended by itself with -6"):
        manager.end()


def test_a_program_that_does_not_stop_fails(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with launched(MANAGER, tmp_path, url) as manager:
        manager.signal(signal.SIGSTOP)
        manager.wait_for_stop()
        with monkeypatch.context() as patched:
            patched.setattr(programs, "STOPPED_WITHIN", 0.1)
            with pytest.raises(AssertionError, match="did not stop by itself"):
                manager.stop()
        assert manager.alive


def test_a_program_that_was_killed_serves_again(tmp_path: Path, url: str) -> None:
    with launched(API, tmp_path, url) as api:
        api.kill()
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{api.url}/leases", timeout=programs.WITHIN)
        api.start()
        assert requests.get(f"{api.url}/leases", timeout=programs.WITHIN).ok


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


def test_everybody_who_asks_learns_by_which_signal_a_process_ended() -> None:
    """Without a lock one thread reads the code and the others 255, which once counted as two wrong kills."""
    assert [codes_of(Child(f"child {number}", die)) for number in range(CHILDREN)] == [{-signal.SIGKILL}] * CHILDREN
