"""A manager that outlives its claim: it is paused during a start, others take over and remove the lease.

Then it resumes. The one call in progress reaches the cloud late; no later call may. The manager is paused in each call,
which is the worst case, and after each step.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from leasehold.leasing.delete import delete_lease
from tests.fault.kills import Verdict, program_of, steps_file
from tests.fault.scenes import is_active, is_gone, lease_of
from tests.fault.stage import RIGHT_WITHIN
from tests.fault.steps import Moment, Place, Plan

if TYPE_CHECKING:
    from tests.fault.kills import Rehearsal
    from tests.fault.program import Launched
    from tests.fault.stage import Stage

OUTLIVED = "outlived"


def standstills(rehearsal: Rehearsal) -> list[Moment]:
    """Return the moments at which a manager is paused: in each call to the cloud, and after each step."""
    numbered = list(enumerate(rehearsal.steps, start=1))
    calls = [Moment(number, Place.BEGIN) for number, name in numbered if not name.startswith("commit of ")]
    return calls + [Moment(number, Place.AFTER) for number, _ in numbered]


def outlive(stage: Stage, rehearsal: Rehearsal, moment: Moment) -> Verdict:
    """Pause a manager at `moment` until its lease is deleted, resume it, and check the state."""
    scene, step = rehearsal.scene, rehearsal.steps[moment.number - 1]
    stage.restore(rehearsal.before)
    trouble, late = "", 0
    try:
        late = _outlive(stage, rehearsal, Plan(steps_file(stage), moment, signal.SIGSTOP))
    except AssertionError as error:
        trouble = f"WRONG: {error}"
    return Verdict(scene.name, str(moment), step, OUTLIVED, RIGHT_WITHIN if trouble else float(late), trouble)


def _outlive(stage: Stage, rehearsal: Rehearsal, plan: Plan) -> int:
    """Return the number of calls to the cloud that the manager made after it lost its claim."""
    # A long poll interval: paused while it polls, which is a transaction too, it would block all writers on SQLite.
    with (
        program_of(stage, rehearsal.scene, plan, poll_seconds=60, claim_seconds=3) as sleeper,
        program_of(stage, rehearsal.scene) as other,
    ):
        try:
            late = _overtaken(stage, sleeper)
        except AssertionError as error:
            message = f"{error}\n{sleeper.story()}\n{other.story()}"
            raise AssertionError(message) from error
    stage.check()
    return late


def _overtaken(stage: Stage, sleeper: Launched) -> int:
    sleeper.wait_for_stop()
    before = len(sleeper.plan.steps())
    stage.wait_until(is_active)
    lease = lease_of(stage.world)
    assert lease is not None
    delete_lease(stage.world.service, lease.id)
    stage.wait_until(is_gone)
    sleeper.signal(signal.SIGCONT)
    sleeper.stop()
    stage.wait_until(is_gone)
    return len(sleeper.plan.steps()) - before
