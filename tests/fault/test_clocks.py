"""Clocks are minutes wrong or jump by minutes: leases begin and end on time, and one manager works on each."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import leases
from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.windows import to_minute
from tests.databases import ON_SERVERS, Databases, database
from tests.factory import DEMO, hosts, instances
from tests.harness.outage import Client
from tests.harness.programs import API, MANAGER, launched
from tests.harness.scenes import lease_of
from tests.harness.stage import RIGHT_WITHIN, SHORT_CLAIMS, new_stage
from tests.processes import merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.harness.programs import Program
    from tests.harness.stage import Stage

pytestmark = pytest.mark.slow

SEED = 14
WRONG = 120
"""Seconds by which a clock is wrong or jumps (from the requirement)."""
STEPS = 5
PAUSES = (0.5, 2.5)
LEASES = 8
SLOW_CALLS = Fault("*", latency_ms=150)
"""Slow calls keep a claim live long enough to detect that another manager takes it."""
A_MOMENT = timedelta(seconds=0.5)
LEAD = timedelta(seconds=5)
"""Creating the leases takes that long on a busy machine; one whose window is over by then would end in ERROR."""
LOOK_EVERY = 0.02
LOST = "is left to another manager"
GAP = "The clock of this machine is"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine whose clock is wrong by the number of seconds in its file."""

    file: Path

    def set(self, seconds: int) -> None:
        """Set the clock offset to this many seconds; a concurrent reader gets the old or the new value."""
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(self.file)


@dataclass(slots=True)
class Course:
    """The `wanted` leases, the true time at which each was first seen in each status, and the managers' logs."""

    wanted: Sequence[LeaseDraft]
    seen: dict[str, dict[str, datetime]] = field(default_factory=dict)
    logs: list[str] = field(default_factory=list)

    def look(self, stage: Stage) -> None:
        """Record the statuses that are new."""
        with stage.world.service.db.reading() as connection:
            rows = connection.execute(select(leases.c.name, leases.c.status)).all()
        now = datetime.now(UTC)
        for row in rows:
            self.seen.setdefault(row.name, {}).setdefault(row.status, now)

    def over(self) -> bool:
        """Return whether all leases ended; a lease whose whole window a clock skipped ends in ERROR."""
        return all(statuses.keys() & {"TERMINATED", "ERROR"} for statuses in self.seen.values())

    def off(self) -> list[str]:
        """Return the leases that began or ended too early, or so late that they waited for a wrong clock."""
        found = []
        for draft in self.wanted:
            moments = {"ACTIVE": draft.start, "TERMINATED": draft.end}
            for status, moment in moments.items():
                seen = self.seen[draft.name].get(status)
                if seen is None or not moment - A_MOMENT <= seen < moment + timedelta(seconds=RIGHT_WITHIN):
                    found.append(f"{draft.name} was {status} at {seen} instead of {moment}")
        return found


def wishes(dice: random.Random, begin: datetime, spans: Sequence[int]) -> list[LeaseDraft]:
    """Return compatible leases that begin and end a few seconds after `begin` plus one of `spans`."""
    made = []
    for number in range(LEASES):
        start = begin + timedelta(seconds=spans[number % len(spans)] + dice.randint(2, 6))
        wish = hosts() if number == 0 else instances()
        end = start + timedelta(seconds=dice.randint(4, 7))
        made.append(LeaseDraft(f"lease-{number}", start, end, None, (wish,), fingerprint=str(number)))
    return made


def run(
    stage: Stage,
    machines: Sequence[Machine],
    spans: Sequence[int],
    steps: Sequence[Sequence[int]],
) -> Course:
    """Let one manager per machine run leases that begin after `spans`; each step sets the clock offset of each machine.

    The leases are created when the managers run, and the steps begin when the leases do.
    """
    dice = random.Random(SEED)  # noqa: S311  repeatable, not secret
    with ExitStack() as stack:
        managers = start_managers(stack, stage, machines, steps[0])
        begin = datetime.now(UTC).replace(microsecond=0) + LEAD
        course, end = Course(wishes(dice, begin, spans)), time.monotonic() + RIGHT_WITHIN
        for draft in course.wanted:
            create_lease(stage.world.service, DEMO, draft)
        stage.world.cloud.faults.set(SLOW_CALLS)
        watch(stage, course, time.monotonic() + (begin - datetime.now(UTC)).total_seconds())
        for step in steps:
            for machine, seconds in zip(machines, step, strict=True):
                machine.set(seconds)
            watch(stage, course, time.monotonic() + dice.uniform(*PAUSES))
        while not course.over():
            assert time.monotonic() < end, "\n".join([f"not over: {course.seen}", *(each.story() for each in managers)])
            watch(stage, course, time.monotonic() + LOOK_EVERY)
        stage.world.cloud.faults.clear()
        stage.wait_until(lambda _world: True)
        course.logs = [manager.log.read_text() for manager in managers]
    return course


def start_managers(
    stack: ExitStack, stage: Stage, machines: Sequence[Machine], offsets: Sequence[int]
) -> list[Program]:
    for machine, seconds in zip(machines, offsets, strict=True):
        machine.set(seconds)
    options = merged(SHORT_CLAIMS, {"manager": {"workers": 4}})
    return [
        stack.enter_context(launched(MANAGER, stage.folder, stage.url, options=options, offset=machine.file))
        for machine in machines
    ]


def watch(stage: Stage, course: Course, until: float) -> None:
    while True:
        course.look(stage)
        if time.monotonic() >= until:
            return
        time.sleep(LOOK_EVERY)


@pytest.fixture(params=ON_SERVERS)
def stage(request: pytest.FixtureRequest, tmp_path: Path, databases: Databases) -> Iterator[Stage]:
    with database(databases, request.param, tmp_path) as url, new_stage(url, tmp_path) as made:
        yield made


def test_wrong_clocks_and_clocks_that_are_set_change_nothing(stage: Stage) -> None:
    dice = random.Random(SEED)  # noqa: S311  repeatable, not secret
    steps = [(WRONG, -WRONG), *([dice.choice((-WRONG, 0, WRONG)) for _ in range(2)] for _ in range(STEPS))]
    course = run(stage, [Machine(stage.folder / name) for name in ("fast", "slow")], (0,), steps)
    assert course.off() == [], f"seed {SEED}"
    assert not any(LOST in log for log in course.logs), course.logs
    assert all(GAP in log for log in course.logs), course.logs
    stage.check()


@pytest.mark.parametrize("wrong", [WRONG, -WRONG])
def test_an_api_whose_clock_is_wrong_grants_leases_for_the_present(stage: Stage, wrong: int) -> None:
    machine = Machine(stage.folder / "api")
    machine.set(wrong)
    with launched(API, stage.folder, stage.url, options=SHORT_CLAIMS, offset=machine.file) as api:
        before = to_minute(datetime.now(UTC))
        answer = Client(api.url).create("now")
    assert answer.status == 201, answer
    lease = lease_of(stage.world)
    assert lease is not None
    assert before <= lease.window.start <= datetime.now(UTC)


def test_on_sqlite_everything_comes_right_after_the_one_clock_was_set(tmp_path: Path) -> None:
    """Some leases are due before the jump, some only while the clock is ahead."""
    with new_stage(f"sqlite:///{tmp_path}/leasehold.db", tmp_path) as stage:
        machine = Machine(tmp_path / "machine")
        steps = [(0, 0), (WRONG, WRONG), (0, 0), (WRONG, WRONG), (0, 0), (2 * WRONG, 2 * WRONG)]
        course = run(stage, [machine, machine], (0, WRONG), steps)
        assert course.over()
        stage.clock.behind = -timedelta(seconds=2 * WRONG)
        stage.check()
