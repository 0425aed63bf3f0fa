"""Every scene with every kill, or a sample, on several databases in parallel, because a kill mostly waits."""

from __future__ import annotations

import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from tests.fault.asking import API_SCENES
from tests.fault.kills import WAYS, kill, rehearse
from tests.fault.outliving import outlive, standstills
from tests.fault.scenes import MANAGER_SCENES
from tests.fault.stage import new_stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.fault.kills import Rehearsal, Verdict
    from tests.fault.scenes import Scene
    from tests.fault.stage import Stage
    from tests.fault.steps import Moment

LANES = 6
"""Databases in which kills run in parallel: a kill mostly waits for a claim to expire."""
SCENES: tuple[Scene, ...] = (*MANAGER_SCENES, *API_SCENES)
Thing = TypeVar("Thing")
Made = TypeVar("Made")
Kill = tuple["Rehearsal", "Moment", str]


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


def choose(rehearsed: Sequence[Rehearsal], seed: int, *, both: bool, most: int | None = None) -> list[Kill]:
    """Return the planned kills: every moment of every scene with one recovery way or `both`, or a sample of `most`."""
    dice = random.Random(seed)  # noqa: S311  a repeatable choice, not a secret
    kills = [
        (rehearsal, moment, way)
        for rehearsal in rehearsed
        for moment in rehearsal.moments
        for way in (WAYS if both else (dice.choice(WAYS),))
    ]
    return kills if most is None else dice.sample(kills, min(most, len(kills)))


def choose_of_each(rehearsed: Sequence[Rehearsal], seed: int, number: int) -> list[Kill]:
    """Return `number` kills of every scene; they alternate between the recovery ways."""
    dice = random.Random(seed)  # noqa: S311  a repeatable choice, not a secret
    moments = [
        (rehearsal, moment)
        for rehearsal in rehearsed
        for moment in dice.sample(rehearsal.moments, min(number, len(rehearsal.moments)))
    ]
    return [(*each, WAYS[place % len(WAYS)]) for place, each in enumerate(moments)]


def carry_out(stages: Sequence[Stage], kills: Sequence[Kill], told: Callable[[Verdict], object]) -> list[Verdict]:
    """Run these kills and pass each verdict to `told` as soon as it is known."""

    def one(stage: Stage, planned: Kill) -> Verdict:
        verdict = kill(stage, *planned)
        told(verdict)
        return verdict

    return _in_lanes(stages, kills, one)


def stand_still(
    stages: Sequence[Stage],
    rehearsed: Sequence[Rehearsal],
    told: Callable[[Verdict], object],
    sample: tuple[int, int] | None = None,
) -> list[Verdict]:
    """Pause a manager in and after each step of these scenes until it lost its claim and the lease is deleted.

    `sample` is a seed and a number: run that many of these moments instead of all.
    """

    def one(stage: Stage, planned: tuple[Rehearsal, Moment]) -> Verdict:
        verdict = outlive(stage, *planned)
        told(verdict)
        return verdict

    moments = [(each, moment) for each in rehearsed for moment in standstills(each)]
    if sample is not None:
        seed, most = sample
        moments = random.Random(seed).sample(moments, most)  # noqa: S311  a repeatable choice, not a secret
    return _in_lanes(stages, moments, one)


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
