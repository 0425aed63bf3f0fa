"""Who waits while others are decided."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from leasehold.leasing.deciding.queue import Queued, Queues
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

POOLS = frozenset({"hosts"})


class Interrupted:
    """The turn of a thread that is interrupted while it waits for it."""

    def acquire(self, timeout: float) -> bool:
        raise KeyboardInterrupt


class Hurried(Queued):
    """One who does not wait for long."""

    patience = 0.01


class TooLate:
    """The turn of one whose patience ends when it is being done already."""

    def __init__(self, taken: threading.Event) -> None:
        self.taken = taken
        self.came = threading.Event()

    def acquire(self, timeout: float = 60) -> bool:
        if not self.taken.is_set():
            assert self.taken.wait(60)
            return False
        return self.came.wait(timeout)

    def release(self) -> None:
        self.came.set()


def nothing(_: Sequence[Queued]) -> None:
    """Leave each to be done alone."""


def test_who_has_waited_for_long_is_done_alone() -> None:
    queues, stuck = Queues(), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        leads = threads.submit(queues.share, Hurried("steps", "p"), lambda: stuck.wait(60), nothing)
        wait_for(lambda: queues.busy("steps"))
        assert queues.share(Hurried("steps", "p"), lambda: "alone", nothing) == "alone"
        assert queues.waiting == 0
        stuck.set()
        assert leads.result(60)
    assert not queues.busy("steps")


def test_who_has_waited_for_long_goes_on_waiting_while_it_is_done() -> None:
    queues, opened, taken, late = Queues(), threading.Event(), threading.Event(), threading.Event()
    second, third = Queued("steps", "p"), Hurried("steps", "p")
    third.turn = TooLate(taken)  # type: ignore[assignment]  # as much of a lock as is used

    def together(batch: Sequence[Queued]) -> None:
        taken.set()
        assert late.wait(60)
        for each in batch:
            each.outcome = "together"

    with ThreadPoolExecutor(3) as threads:
        leads = threads.submit(queues.share, Queued("steps", "p"), lambda: opened.wait(60), together)
        wait_for(lambda: queues.busy("steps"))
        both = []
        for number, each in enumerate((second, third), 1):
            both.append(threads.submit(queues.share, each, lambda: "alone", together))
            wait_for(lambda number=number: queues.waiting == number)  # type: ignore[misc]
        opened.set()
        wait_for(taken.is_set)
        late.set()
        assert leads.result(60)
        assert [each.result(60) for each in both] == ["together"] * 2
    assert not queues.busy("steps")


def test_who_is_interrupted_while_it_waits_is_in_nobodys_way() -> None:
    queues, opened = Queues(), threading.Event()
    first, second, third = (Queued(POOLS, "p") for _ in range(3))
    second.turn = Interrupted()  # type: ignore[assignment]  # as much of a lock as is used
    decided: list[Queued] = []

    def opens(_: object) -> None:
        assert opened.wait(60)

    with ThreadPoolExecutor(2) as threads:
        leads = threads.submit(queues.decide, first, opens)
        wait_for(lambda: queues.busy(POOLS))
        with pytest.raises(KeyboardInterrupt):
            queues.decide(second, decided.extend)
        waits = threads.submit(queues.decide, third, decided.extend)
        wait_for(lambda: queues.waiting == 1)
        opened.set()
        leads.result(60)
        waits.result(60)
    assert decided == [third]
    assert not queues.busy(POOLS)
