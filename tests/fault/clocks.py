"""Managers on machines with wrong clocks that also jump, while leases start and end and claims are live."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import select

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import leases
from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseDraft
from tests.factory import DEMO, hosts, instances
from tests.fault.kills import SHORT_CLAIMS
from tests.fault.program import launched
from tests.fault.stage import RIGHT_WITHIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.fault.program import Launched
    from tests.fault.stage import Stage

WRONG = 120
"""Seconds by which a clock is wrong or jumps (from the requirement)."""
STEPS = 5
PAUSES = (0.5, 2.5)
LEASES = 8
SLOW_CALLS = Fault("*", latency_ms=150)
"""Slow calls keep a claim live long enough to detect that another manager takes it."""
A_MOMENT = timedelta(seconds=0.5)
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
    """The true time at which each lease was first seen in each status, and the managers' logs."""

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

    def off(self, wanted: Sequence[LeaseDraft]) -> list[str]:
        """Return the leases that began or ended too early, or so late that they waited for a wrong clock."""
        found = []
        for draft in wanted:
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
    stage: Stage, machines: Sequence[Machine], wanted: Sequence[LeaseDraft], steps: Sequence[Sequence[int]]
) -> Course:
    """Let one manager per machine run these leases; each step sets the clock offset of each machine."""
    for draft in wanted:
        create_lease(stage.world.service, DEMO, draft)
    stage.world.cloud.faults.set(SLOW_CALLS)
    course, end = Course(), time.monotonic() + RIGHT_WITHIN
    dice = random.Random(len(steps))  # noqa: S311  repeatable, not secret
    with ExitStack() as stack:
        managers = _start(stack, stage, machines, steps[0])
        for step in steps:
            for machine, seconds in zip(machines, step, strict=True):
                machine.set(seconds)
            _watch(stage, course, time.monotonic() + dice.uniform(*PAUSES))
        while not course.over():
            assert time.monotonic() < end, f"not over: {course.seen}\n" + "\n".join(each.story() for each in managers)
            _watch(stage, course, time.monotonic() + LOOK_EVERY)
        stage.world.cloud.faults.clear()
        stage.wait_until(lambda _world: True)
        course.logs = [manager.log.read_text() for manager in managers]
    return course


def _start(stack: ExitStack, stage: Stage, machines: Sequence[Machine], offsets: Sequence[int]) -> list[Launched]:
    for machine, seconds in zip(machines, offsets, strict=True):
        machine.set(seconds)
    options = {**SHORT_CLAIMS, "manager": {**SHORT_CLAIMS["manager"], "workers": 4}}
    return [
        stack.enter_context(
            launched("leasehold-manager", stage.folder, stage.url, options=options, offset=machine.file)
        )
        for machine in machines
    ]


def _watch(stage: Stage, course: Course, until: float) -> None:
    while True:
        course.look(stage)
        if time.monotonic() >= until:
            return
        time.sleep(LOOK_EVERY)
