"""Requests that wait for others to be decided lend their permits, within the places for those who wait (0128)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

import pytest

from leasehold.api.limits.admission_control import AdmissionControl
from leasehold.conf.settings import ApiSettings
from leasehold.leasing.deciding.queue import Queued, Queues
from leasehold.model.errors import OverloadedError
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

POOLS = frozenset({"hosts"})


class Line:
    """One queue behind admission control; the first decision lasts until it is `opened`."""

    def __init__(self, *, waiting: int, patience: float) -> None:
        settings = replace(ApiSettings(), threads=1, waiting=waiting, wait_seconds=patience)
        self.admission = AdmissionControl(settings)
        self.queues = Queues()
        self.opened, self.deciding = Event(), Event()
        self.batches: list[int] = []

    def ask(self) -> bool:
        """Be decided, and return whether a permit was free while it was answered."""
        with self.admission.admit(public=False):
            self.queues.decide(Queued(POOLS, "project"), self._decide)
            return self.admission.has_room()

    def _decide(self, batch: Sequence[Queued]) -> None:
        self.batches.append(len(batch))
        self.deciding.set()
        assert self.opened.wait(30)


def test_who_waits_in_line_lets_others_in() -> None:
    line = Line(waiting=3, patience=30)
    with ThreadPoolExecutor(8) as threads:
        leading = threads.submit(line.queues.decide, Queued(POOLS, "other"), line._decide)
        assert line.deciding.wait(30)
        others = [threads.submit(line.ask) for _ in range(3)]
        # With one permit for all, each lends it to the next.
        wait_for(lambda: line.queues.waiting == 3)
        assert line.admission.has_room()
        line.opened.set()
        leading.result(30)
        assert [each.result(30) for each in others] == [True] * 3
    assert line.batches == [1, 3]


def test_without_a_place_to_wait_the_permit_is_kept() -> None:
    line = Line(waiting=1, patience=30)
    with ThreadPoolExecutor(8) as threads:
        leading = threads.submit(line.queues.decide, Queued(POOLS, "other"), line._decide)
        assert line.deciding.wait(30)
        others = [threads.submit(line.ask) for _ in range(2)]
        wait_for(lambda: line.queues.waiting == 2)
        assert not line.admission.has_room()
        with pytest.raises(OverloadedError):
            line.ask()
        line.opened.set()
        leading.result(30)
        assert all(each.done() or each.result(30) is not None for each in others)
    assert line.admission.has_room()


class Reading(Queued):
    """One whose request goes on afterwards."""

    reads = True


def test_who_has_more_to_do_afterwards_keeps_its_permit() -> None:
    line = Line(waiting=3, patience=30)

    def ask() -> bool:
        with line.admission.admit(public=False):
            line.queues.decide(Reading(POOLS, "project"), line._decide)
            return not line.admission.has_room()

    with ThreadPoolExecutor(8) as threads:
        leading = threads.submit(line.queues.decide, Queued(POOLS, "other"), line._decide)
        assert line.deciding.wait(30)
        reading = threads.submit(ask)
        wait_for(lambda: line.queues.waiting == 1)
        assert not line.admission.has_room()
        line.opened.set()
        leading.result(30)
        assert reading.result(30)
    assert line.admission.has_room()


def test_who_waits_too_long_is_sent_away_and_nothing_is_decided_about_it() -> None:
    line = Line(waiting=3, patience=0.05)
    with ThreadPoolExecutor(8) as threads:
        leading = threads.submit(line.queues.decide, Queued(POOLS, "other"), line._decide)
        assert line.deciding.wait(30)
        with pytest.raises(OverloadedError):
            line.ask()
        assert line.queues.waiting == 0
        line.opened.set()
        leading.result(30)
        line.ask()
    assert line.batches == [1, 1]


def test_who_is_decided_alone_after_it_waited_needs_a_permit_again() -> None:
    line = Line(waiting=2, patience=0.05)
    with line.admission.admit(public=False) as permit:
        assert permit.stand_in_line() == 0.05
        with line.admission.admit(public=False), pytest.raises(OverloadedError):
            permit.take_again()
        permit.take_again()
        assert not line.admission.has_room()
    assert line.admission.has_room()


def test_who_waits_several_times_has_one_place_and_one_permit() -> None:
    """A request is decided again after its lease changed, or after somebody approved of what was decided."""
    line = Line(waiting=1, patience=0.05)
    for _ in range(3):
        with line.admission.admit(public=False) as permit:
            assert permit.stand_in_line() == permit.stand_in_line() == 0.05
            with permit.lent():
                assert line.admission.has_room()
            permit.take_again()
            assert not line.admission.has_room()
            assert permit.stand_in_line() == 0.05
        assert line.admission.has_room()
