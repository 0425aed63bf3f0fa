"""Kill or pause a program at each step of a scene, then check the lease; on several databases in parallel.

A killed program is restarted, or another one takes over. A paused manager outlives its claim: others take over and
remove the lease, then it resumes. The one call in progress reaches the cloud late; no later call may. It is paused in
each call, which is the worst case, and after each step.
"""

from __future__ import annotations

import random
import signal
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from leasehold.leasing.delete import delete_lease
from tests.harness.asking import API_SCENES
from tests.harness.draw_scenes import DRAW_SCENES
from tests.harness.evidence import kept_when_wrong
from tests.harness.programs import MANAGER, launched
from tests.harness.scenes import MANAGER_SCENES, Scene, is_active, is_gone, lease_of
from tests.harness.series_scenes import SERIES_SCENES
from tests.harness.stage import RIGHT_WITHIN, SHORT_CLAIMS, new_stage
from tests.harness.steps import Moment, Place, Plan
from tests.processes import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from tests.harness.programs import Program
    from tests.harness.stage import Rows, Stage

LANES = 6
"""Databases in which kills run in parallel: a kill mostly waits for a claim to expire."""
SCENES: tuple[Scene, ...] = (*MANAGER_SCENES, *DRAW_SCENES, *API_SCENES, *SERIES_SCENES)
RESTARTED, TAKEN_OVER, OUTLIVED = "restarted", "taken over", "outlived"
WAYS = (RESTARTED, TAKEN_OVER)
"""How work recovers: the same program is restarted, or another running one takes over."""
KILLING = (Place.BEFORE, Place.AFTER)
Thing = TypeVar("Thing")
Made = TypeVar("Made")


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

    @property
    def standstills(self) -> list[Moment]:
        """Return the moments at which a manager is paused: in each call to the cloud, and after each step."""
        numbered = list(enumerate(self.steps, start=1))
        calls = [Moment(number, Place.BEGIN) for number, name in numbered if not name.startswith("commit of ")]
        return calls + [Moment(number, Place.AFTER) for number, _ in numbered]


@dataclass(frozen=True, slots=True)
class Trial:
    """What is planned for one moment of a scene: the recovery way of a kill, or `OUTLIVED`."""

    rehearsal: Rehearsal
    moment: Moment
    way: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a trial: the seconds until the state was correct, or the late calls of a manager that outlived."""

    trial: Trial
    seconds: float
    trouble: str = ""

    def __str__(self) -> str:
        """Return one row of the table."""
        trial, verdict = self.trial, self.trouble or f"right after {self.seconds:.1f} s"
        step = textwrap.shorten(trial.rehearsal.steps[trial.moment.number - 1], 60)
        return f"{trial.rehearsal.scene.name:<12} {trial.moment!s:<10} {step:<60} {trial.way:<12} {verdict}"


# ---------------------------------------------------------------- which trials, and where


@contextmanager
def stages(create: Callable[[], str], lanes: int = LANES, evidence: Path | None = None) -> Iterator[Sequence[Stage]]:
    """Yield stages in fresh databases; `create` creates an empty database and returns its URL."""
    with ExitStack() as stack:
        made = []
        for _ in range(lanes):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leasehold-fault-")))
            made.append(stack.enter_context(new_stage(create(), folder, evidence)))
        yield made


def rehearsals(stages: Sequence[Stage], scenes: Sequence[Scene] = SCENES) -> list[Rehearsal]:
    """Run every scene once without a kill."""
    empties = {stage.url: stage.rows() for stage in stages}
    return _in_lanes(stages, scenes, lambda stage, scene: rehearse(stage, scene, empties[stage.url]))


def every_kill(rehearsed: Sequence[Rehearsal], seed: int, *, both: bool) -> list[Trial]:
    """Return a kill at every moment of every scene, with one recovery way or `both`."""
    dice = random.Random(seed)  # noqa: S311  a repeatable choice, not a secret
    return [
        Trial(rehearsal, moment, way)
        for rehearsal in rehearsed
        for moment in rehearsal.moments
        for way in (WAYS if both else (dice.choice(WAYS),))
    ]


def kills_of_each(rehearsed: Sequence[Rehearsal], seed: int, number: int) -> list[Trial]:
    """Return `number` kills of every scene; they alternate between the recovery ways."""
    dice = random.Random(seed)  # noqa: S311  a repeatable choice, not a secret
    moments = [
        (rehearsal, moment)
        for rehearsal in rehearsed
        for moment in dice.sample(rehearsal.moments, min(number, len(rehearsal.moments)))
    ]
    return [Trial(*each, WAYS[place % len(WAYS)]) for place, each in enumerate(moments)]


def every_standstill(rehearsed: Sequence[Rehearsal]) -> list[Trial]:
    """Return every moment at which a manager may be paused."""
    return [Trial(each, moment, OUTLIVED) for each in rehearsed for moment in each.standstills]


def sample(trials: list[Trial], seed: int, most: int | None) -> list[Trial]:
    """Return `most` of these, or all."""
    return trials if most is None else random.Random(seed).sample(trials, min(most, len(trials)))  # noqa: S311  repeatable


def carry_out(
    stages: Sequence[Stage], trials: Sequence[Trial], told: Callable[[Verdict], object] = lambda _verdict: None
) -> list[Verdict]:
    """Run these trials and pass each verdict to `told` as soon as it is known."""

    def one(stage: Stage, trial: Trial) -> Verdict:
        verdict = try_out(stage, trial)
        told(verdict)
        return verdict

    return _in_lanes(stages, trials, one)


def _in_lanes(stages: Sequence[Stage], things: Sequence[Thing], work: Callable[[Stage, Thing], Made]) -> list[Made]:
    """Run `work` for each thing on the next free stage; return the results in the order of `things`."""
    free: SimpleQueue[Stage] = SimpleQueue()
    for stage in stages:
        free.put(stage)

    def one(thing: Thing) -> Made:
        stage = free.get()
        try:
            return work(stage, thing)
        finally:
            free.put(stage)

    with ThreadPoolExecutor(len(stages)) as threads:
        return list(threads.map(one, things))


# ---------------------------------------------------------------- one trial


def rehearse(stage: Stage, scene: Scene, empty: Rows) -> Rehearsal:
    """Set up the scene and run it without a kill, which records the steps."""
    stage.restore(empty)
    scene.set_up(stage)
    before = stage.rows()
    with _program(stage, scene) as program:
        try:
            scene.act(stage, program)
        except AssertionError as error:
            message = f"{scene.name} without a kill: {error}\n{program.story()}"
            raise AssertionError(message) from error
        return Rehearsal(scene, before, tuple(program.plan.steps()))


def try_out(stage: Stage, trial: Trial) -> Verdict:
    """Run the scene again, kill or pause its program at the moment, let another program recover, and check."""
    stage.restore(trial.rehearsal.before)
    try:
        return Verdict(trial, _outlive(stage, trial) if trial.way == OUTLIVED else _kill(stage, trial))
    except AssertionError as error:
        return Verdict(trial, RIGHT_WITHIN, f"WRONG: {error}")


def _kill(stage: Stage, trial: Trial) -> float:
    scene, name = trial.rehearsal.scene, f"{trial.rehearsal.scene.name} {trial.moment} {trial.way}"
    plan = Plan(stage.folder / "doomed.steps", trial.moment, _SIGNALS[trial.way])
    with ExitStack() as stack:
        doomed = stack.enter_context(_program(stage, scene, plan))
        programs = [doomed]
        # The innermost block, so that the other programs still run while diagnostics are collected.
        with kept_when_wrong(stage, name, programs):
            asked = scene.begin(stage, doomed)
            if trial.way == TAKEN_OVER:
                doomed.wait_for_stop()
            else:
                doomed.wait_for_death()
            # The programs that recover: another instance of the scene's program, and always a manager.
            others = dict.fromkeys((scene.program, MANAGER))
            programs.extend(stack.enter_context(_program(stage, scene, name=other)) for other in others)
            doomed.kill()
            seconds = scene.finish(stage, asked, programs[1:])
            stage.check()
            return seconds


_SIGNALS = {RESTARTED: signal.SIGKILL, TAKEN_OVER: signal.SIGSTOP}


def _program(
    stage: Stage, scene: Scene, plan: Plan | None = None, name: str = "", **of_manager: object
) -> AbstractContextManager[Program]:
    """Return the scene's program, or another one with its options; `of_manager` adds some to `[manager]`."""
    options = merged(merged(SHORT_CLAIMS, scene.options), {"manager": of_manager})
    return launched(name or scene.program, stage.folder, stage.url, plan, options=options)


def _outlive(stage: Stage, trial: Trial) -> float:
    """Return the number of calls to the cloud that the manager made after it lost its claim."""
    plan = Plan(stage.folder / "doomed.steps", trial.moment, signal.SIGSTOP)
    # A long poll interval: paused while it polls, which is a transaction too, it would block all writers on SQLite.
    with (
        _program(stage, trial.rehearsal.scene, plan, poll_seconds=60, claim_seconds=3) as sleeper,
        _program(stage, trial.rehearsal.scene) as other,
        kept_when_wrong(stage, f"outlived {trial.moment}", [sleeper, other]),
    ):
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
        late = len(sleeper.plan.steps()) - before
    stage.check()
    return late
