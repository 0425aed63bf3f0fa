"""Who waits while others are decided."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from leasehold.leasing.deciding.queue import Queued, Queues
from tests.processes import wait_for

POOLS = frozenset({"hosts"})


class Interrupted(threading.Event):
    """What a thread waits for that is interrupted meanwhile."""

    def wait(self, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt


def test_who_is_interrupted_while_it_waits_is_in_nobodys_way() -> None:
    queues, opened = Queues(), threading.Event()
    first, second, third = (Queued(POOLS, "p") for _ in range(3))
    second.turn = Interrupted()
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
