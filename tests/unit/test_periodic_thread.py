"""A manager's periodic threads stop with it, even while one waits for an answer that never comes."""

from __future__ import annotations

import logging
from threading import Event
from typing import TYPE_CHECKING

from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    import pytest


class Waiting(PeriodicThread):
    """A periodic thread that blocks until the test sets `answer`."""

    def __init__(self) -> None:
        super().__init__("monitor", 0.0)
        self.waits = Event()
        self.answer = Event()

    def run_once(self) -> None:
        self.waits.set()
        self.answer.wait()


def test_a_look_that_does_not_end_is_left_and_said(caplog: pytest.LogCaptureFixture) -> None:
    periodic_thread = Waiting()
    periodic_thread.start()
    periodic_thread.waits.wait()
    with caplog.at_level(logging.WARNING):
        periodic_thread.stop(0.01)
    assert [record.message for record in caplog.records] == [
        "Stopped while the monitor was still waiting for an answer; its next run starts over"
    ]
    periodic_thread.answer.set()
    periodic_thread.stop(60)
    assert len(caplog.records) == 1
