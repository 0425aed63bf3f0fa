"""Kill a program at each step of a scene, then check the lease."""

from __future__ import annotations

import signal
import textwrap
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.fault.evidence import kept_when_wrong
from tests.fault.program import launched
from tests.fault.stage import RIGHT_WITHIN
from tests.fault.steps import Moment, Place, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.fault.program import Launched
    from tests.fault.scenes import Scene
    from tests.fault.stage import Rows, Stage

RESTARTED, TAKEN_OVER = "restarted", "taken over"
KILLING = (Place.BEFORE, Place.AFTER)
WAYS = (RESTARTED, TAKEN_OVER)
"""How work recovers: the same program is restarted, or another running one takes over."""
SHORT_CLAIMS: Mapping[str, Mapping[str, object]] = {
    "DEFAULT": {"debug": True},
    "manager": {"claim_seconds": 3, "poll_seconds": 0.05, "retry_first_seconds": 0.1, "workers": 1},
    "api": {"auth_strategy": "none", "delete_wait_seconds": 0.2},
    "physical:host": {"polling_interval": 3600},
}
"""A claim that expires soon, so that hundreds of kills take minutes. Another test covers the default."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one kill: the step, the recovery way, and the seconds until the state was correct."""

    scene: str
    moment: str
    step: str
    way: str
    seconds: float
    trouble: str = ""

    def __str__(self) -> str:
        """Return one row of the table."""
        verdict = self.trouble or f"right after {self.seconds:.1f} s"
        return f"{self.scene:<12} {self.moment:<10} {textwrap.shorten(self.step, 60):<60} {self.way:<12} {verdict}"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A scene that ran once without a kill: the rows before it, and its steps."""

    scene: Scene
    before: Rows
    steps: tuple[str, ...]

    @property
    def moments(self) -> list[Moment]:
        """Return every moment at which a kill makes a difference."""
        return [Moment(number, place) for number in range(1, len(self.steps) + 1) for place in KILLING]


def options_of(scene: Scene) -> dict[str, dict[str, object]]:
    """Return the manager's options in a scene."""
    sections = {name: dict(values) for name, values in SHORT_CLAIMS.items()}
    for name, values in scene.options.items():
        sections.setdefault(name, {}).update(values)
    return sections


def rehearse(stage: Stage, scene: Scene, empty: Rows) -> Rehearsal:
    """Set up the scene and run it without a kill, which records the steps."""
    stage.restore(empty)
    scene.set_up(stage)
    before = stage.rows()
    with program_of(stage, scene) as program:
        try:
            scene.act(stage, program)
        except AssertionError as error:
            message = f"{scene.name} without a kill: {error}\n{program.story()}"
            raise AssertionError(message) from error
        steps = program.plan.steps()
    return Rehearsal(scene, before, tuple(steps))


def kill(stage: Stage, rehearsal: Rehearsal, moment: Moment, way: str) -> Verdict:
    """Run the scene again, kill its program at `moment`, let another program recover, and check the state."""
    scene, step = rehearsal.scene, rehearsal.steps[moment.number - 1]
    stage.restore(rehearsal.before)
    try:
        seconds = _kill(stage, scene, moment, way)
    except AssertionError as error:
        return Verdict(scene.name, str(moment), step, way, RIGHT_WITHIN, f"WRONG: {error}")
    return Verdict(scene.name, str(moment), step, way, seconds)


def _kill(stage: Stage, scene: Scene, moment: Moment, way: str) -> float:
    plan = Plan(steps_file(stage), moment, signal.SIGKILL if way == RESTARTED else signal.SIGSTOP)
    with ExitStack() as stack:
        doomed = stack.enter_context(program_of(stage, scene, plan))
        programs = [doomed]
        # The innermost block, so that the other programs still run while diagnostics are collected.
        with kept_when_wrong(stage, f"{scene.name} {moment} {way}", programs):
            asked = scene.begin(stage, doomed)
            if way == TAKEN_OVER:
                doomed.wait_for_stop()
                programs.extend(stack.enter_context(each) for each in _others(stage, scene))
                doomed.kill()
            else:
                doomed.wait_for_death()
                programs.extend(stack.enter_context(each) for each in _others(stage, scene))
            seconds = scene.finish(stage, asked, programs[1:])
            stage.check()
            return seconds


def program_of(
    stage: Stage, scene: Scene, plan: Plan | None = None, **manager: object
) -> AbstractContextManager[Launched]:
    """Return the scene's program, run with `plan`; `manager` adds options to the `[manager]` section."""
    options = options_of(scene)
    return launched(
        scene.program, stage.folder, stage.url, plan, options={**options, "manager": {**options["manager"], **manager}}
    )


def _others(stage: Stage, scene: Scene) -> list[AbstractContextManager[Launched]]:
    """Return the programs that recover: another instance of the scene's program, and always a manager."""
    names = dict.fromkeys((scene.program, "leasehold-manager"))
    return [launched(name, stage.folder, stage.url, options=options_of(scene)) for name in names]


def steps_file(stage: Stage) -> Path:
    """Return the file in which the killed program records its steps; the file does not exist yet."""
    file = stage.folder / "doomed.steps"
    file.unlink(missing_ok=True)
    return file
