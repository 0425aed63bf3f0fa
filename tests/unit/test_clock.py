"""The clock that all processes share: the database's clock, extrapolated between reads by the steady clock."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import REGISTRY
from sqlalchemy.exc import OperationalError

from leasehold.db.clock import EVERY_SECONDS, RETRY_SECONDS, SLOW_SECONDS, TOLERANCE, ClockReading, SharedClock
from tests.factory import START
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR = timedelta(hours=1)


@dataclass
class Database:
    """A database server and a machine whose clocks, delays and failures the test sets."""

    passed: float = 0.0
    machine_gap: timedelta = timedelta(0)
    took: float = 0.0
    down: bool = False
    asked: int = 0
    jump: timedelta = timedelta(0)
    seen_at: datetime | None = None
    accepted_at: datetime | None = None
    hold: Callable[[], object] = field(default=lambda: None)

    def ask(self) -> ClockReading:
        self.asked += 1
        self.hold()
        if self.down:
            raise OperationalError("SELECT", None, Exception("gone"))
        return ClockReading(self.truth() + self.jump, self.passed, self.took, self.seen_at, self.accepted_at)

    def keep(self, moment: datetime) -> None:
        self.seen_at = moment

    def truth(self) -> datetime:
        return START + timedelta(seconds=self.passed)

    def clock(self) -> SharedClock:
        return SharedClock(
            self.ask, machine=lambda: self.truth() + self.machine_gap, steady=lambda: self.passed, keep=self.keep
        )

    def looked_at(self) -> tuple[Database, SharedClock]:
        """Return the database, and a clock that has read its time."""
        clock = self.clock()
        clock.look()
        return self, clock


def asks_again(database: Database, clock: SharedClock) -> None:
    """Advance to the next read of the database's clock, and wait until the reading thread has finished."""
    asked = database.asked
    database.passed += EVERY_SECONDS
    clock.now()
    wait_for(lambda: database.asked > asked and not busy(clock))


def busy(clock: SharedClock) -> bool:
    return clock._looking is not None and clock._looking.is_alive()


@pytest.mark.parametrize("gap", [2 * HOUR, -2 * HOUR])
def test_it_is_the_databases_whatever_the_machine_says_and_however_that_is_set(gap: timedelta) -> None:
    database, clock = Database(machine_gap=gap).looked_at()
    assert clock.now() == START
    database.passed = 10.0
    database.machine_gap = -gap
    assert clock.now() == START + timedelta(seconds=10)
    assert database.asked == 1


def test_a_steady_clock_that_goes_wrong_is_put_right_at_the_next_look() -> None:
    database = Database()
    clock = SharedClock(database.ask, machine=database.truth, steady=lambda: 1.01 * database.passed)
    clock.look()
    database.passed = 20.0
    assert clock.now() == START + timedelta(seconds=20.2)
    clock = database.clock()
    clock.look()
    asks_again(database, clock)
    assert clock.now() == database.truth()


def test_a_database_that_does_not_answer_leaves_it_counting_and_is_asked_again_soon() -> None:
    database, clock = Database().looked_at()
    database.down = True
    asks_again(database, clock)
    assert clock.now() == database.truth()
    database.down = False
    database.machine_gap = HOUR
    asked = database.asked
    database.passed += RETRY_SECONDS
    clock.now()
    wait_for(lambda: database.asked > asked)


@pytest.mark.parametrize("trouble", [{"down": True}, {"took": SLOW_SECONDS * 1.1}], ids=["no answer", "a slow answer"])
def test_before_any_answer_that_counts_it_is_the_machines(trouble: dict[str, Any]) -> None:
    _, clock = Database(machine_gap=HOUR, **trouble).looked_at()
    assert clock.now() == START + HOUR


def test_nobody_waits_for_a_look_and_only_one_is_made_at_a_time() -> None:
    answer = Event()
    database, clock = Database().looked_at()
    database.hold = answer.wait
    database.passed = EVERY_SECONDS
    told: list[datetime] = []
    crowd = [Thread(target=lambda: told.append(clock.now())) for _ in range(20)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    database.passed += 10 * EVERY_SECONDS
    assert clock.now() == database.truth()
    assert (len(told), database.asked) == (20, 2)
    answer.set()
    wait_for(lambda: not busy(clock))


# Python 3.12 warns about a fork in a multi-threaded process, which is exactly the case under test.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_that_is_forked_during_a_look_makes_its_own() -> None:
    answer = Event()
    database, clock = Database().looked_at()
    database.hold = answer.wait
    database.passed = EVERY_SECONDS
    clock.now()
    wait_for(lambda: database.asked == 2)
    child = os.fork()
    if child == 0:
        database.hold = lambda: None
        database.passed += EVERY_SECONDS
        clock.now()
        wait_for(lambda: database.asked == 3)
        os._exit(0)
    answer.set()
    assert os.waitpid(child, 0)[1] == 0


def test_a_machine_whose_clock_is_wrong_is_warned_of_once_and_until_it_is_right(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="leasehold.db.clock")
    database, clock = Database(machine_gap=TOLERANCE).looked_at()
    assert caplog.messages == []
    database.machine_gap = timedelta(minutes=2)
    clock.look()
    clock.look()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0] == (
        "The clock of this machine is 120 s ahead of the database's. Leases go by the database's. Set both by NTP."
    )
    database.machine_gap = -timedelta(minutes=2)
    clock.look()
    assert caplog.messages[1].startswith("The clock of this machine is 120 s behind the database's.")
    database.machine_gap = timedelta(0)
    clock.look()
    assert caplog.messages[2] == "The clock of this machine agrees with the database's again"


def held() -> float | None:
    """Return the metric that says whether a jump is held."""
    return REGISTRY.get_sample_value("leasehold_clock_held")


@pytest.mark.parametrize("jump", [5 * HOUR, -5 * HOUR])
def test_a_jump_is_not_followed_until_the_clock_comes_back(jump: timedelta, caplog: pytest.LogCaptureFixture) -> None:
    database, clock = Database().looked_at()
    database.jump = jump
    for _ in range(3):
        asks_again(database, clock)
        assert (clock.now(), held()) == (database.truth(), 1)
    told = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == 1
    assert "leasehold-manage clock accept" in told[0]
    database.jump = timedelta(0)
    asks_again(database, clock)
    assert (clock.now(), held()) == (database.truth(), 0)
    assert "followed again: it is where it should be" in caplog.records[-1].message


@pytest.mark.parametrize(("limit", "followed"), [(30, False), (60, False), (90, True), (600, True)])
def test_how_far_a_clock_may_jump_is_the_operators_to_say(limit: int, *, followed: bool) -> None:
    database = Database()
    clock = SharedClock(
        database.ask, machine=database.truth, steady=lambda: database.passed, jump=timedelta(seconds=limit)
    )
    clock.look()
    database.jump = timedelta(seconds=61)
    clock.look()
    assert clock.now() == database.truth() + (database.jump if followed else timedelta(0))
    database.accepted_at = database.truth() + database.jump
    clock.look()
    assert clock.now() == database.truth() + database.jump


@pytest.mark.parametrize("jump", [5 * HOUR, -5 * HOUR])
def test_a_jump_that_an_operator_accepts_is_followed_and_the_next_one_is_not(jump: timedelta) -> None:
    database, clock = Database().looked_at()
    database.jump = jump
    asks_again(database, clock)
    database.accepted_at = database.truth() + jump
    asks_again(database, clock)
    assert clock.now() == database.truth() + jump
    database.jump += HOUR / 2
    asks_again(database, clock)
    assert clock.now() == database.truth() + jump


def test_a_process_that_starts_after_the_jump_does_not_follow_it_either() -> None:
    database = Database()
    database.clock().look()
    assert database.seen_at == START
    database.passed, database.jump = 600.0, 5 * HOUR
    clock = database.clock()
    clock.look()
    assert clock.now() == database.truth()
    assert database.seen_at == START
    database.accepted_at = database.truth() + database.jump
    asks_again(database, clock)
    assert clock.now() == database.truth() + database.jump
    # A process that starts later, on any machine, finds the clock accepted.
    database.passed += 7200.0
    clock.look()
    late = database.clock()
    late.look()
    assert late.now() == database.truth() + database.jump


@pytest.mark.parametrize(
    ("off_for", "machine_gap"), [(60 * HOUR, timedelta(0)), (60 * HOUR, 2 * HOUR), (HOUR / 100, -2 * HOUR)]
)
def test_a_process_that_starts_after_a_weekend_or_on_a_machine_that_is_wrong_believes_the_database(
    off_for: timedelta, machine_gap: timedelta
) -> None:
    _, clock = Database(seen_at=START - off_for, machine_gap=machine_gap).looked_at()
    assert clock.now() == START
