"""Compare this checkout with another one in one run: `python -m bench.beside FOLDER` (not a part of `make bench`).

Both take short turns on one MariaDB with durable commits, so that other work on the machine slows both. Medians over
the rounds are printed: leases granted, amended, deleted and started a second, the processor time of the process for
each, and ratios.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

LEASES: Final = 25
"""Leases of one turn: first all are created, then all are started. As many are created, amended and deleted."""
ROUNDS: Final = 12
TURNS: Final = "--turns"
PHASES: Final = ("granted", "amended", "deleted", "started", "started, without the calls to the cloud")


def main() -> None:
    """Run both checkouts in turns, and print the figures."""
    from tests.servers import running_mariadb  # noqa: PLC0415 - a turn imports the tests of its own checkout.

    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__)
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    here = Path(__file__).resolve().parent.parent
    with running_mariadb() as server:
        both = [_open(root, server.create_database()) for root in (arguments.folder.resolve(), here)]
        turns = [[_turn(each) for each in both] for _ in range(arguments.rounds + 1)][1:]
        for each in both:
            each.communicate()
    for phase, name in enumerate(PHASES):
        for kind, unit in enumerate(("/s", "ms of processor time")):
            before, after = ([turn[side][2 * phase + kind] for turn in turns] for side in (0, 1))
            ratio = median(new / old for old, new in zip(before, after, strict=True))
            sys.stdout.write(
                f"{name}: {median(before):.2f} {unit} before, {median(after):.2f} now, {ratio:.2f} times\n"
            )


def _open(root: Path, url: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    # With -P the modules of this folder do not hide those of the standard library.
    command = [sys.executable, "-P", __file__, TURNS, url]
    return subprocess.Popen(
        command, cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _turn(program: subprocess.Popen[str]) -> list[float]:
    if program.stdin is None or program.stdout is None:
        message = "The other checkout has no pipes."
        raise RuntimeError(message)
    program.stdin.write("\n")
    program.stdin.flush()
    return [float(each) for each in program.stdout.readline().split()]


def take_turns(url: str) -> None:
    """For each line that comes, change and start leases, and print rate and processor time of each phase."""
    from tests.factory import World, make_service  # noqa: PLC0415 - those of the checkout that is run.

    with make_service(url, hosts=("cmp-01",), addresses=()) as world:
        hour = 1
        for _ in sys.stdin:
            found: list[float] = []
            made = [_granted(world, hour + number) for number in range(LEASES)]
            for change in (_longer, World.delete):
                begun = _now()
                for lease in made:
                    change(world, lease)
                found += _spent(begun)
            for with_cloud in (True, False):
                begun = _now()
                for number in range(LEASES):
                    _granted(world, hour + number)
                if with_cloud:
                    found = [*_spent(begun), *found]
                found += _started(world, hour, with_cloud=with_cloud)
                hour += LEASES + 1
            sys.stdout.write(" ".join(map(str, found)) + "\n")
            sys.stdout.flush()


def _granted(world: World, start: float) -> Lease:
    from tests.factory import hosts  # noqa: PLC0415 - as above.

    return world.lease(hosts(1), start=start, end=start + 0.5, before_end=None)


def _longer(world: World, lease: Lease) -> None:
    world.amend(lease, end=lease.window.end + timedelta(minutes=15))


def _started(world: World, hour: int, *, with_cloud: bool) -> list[float]:
    """Return rate and processor time of the starts alone; each lease is prepared before, and ended after it."""
    from leasehold.leasing.steps.lifecycle import Outcome, Result, begin  # noqa: PLC0415 - as above.
    from leasehold.leasing.steps.outcome import complete  # noqa: PLC0415
    from leasehold.manager.task_runner import run_task  # noqa: PLC0415
    from tests.factory import claim_one, run_manager  # noqa: PLC0415

    run_manager(world)
    spent = []
    for start in range(hour, hour + LEASES):
        world.clock.set(world.hour(start))
        claim = claim_one(world)
        if claim is None:
            message = "No lease is due to start."
            raise RuntimeError(message)
        begun = _now()
        if with_cloud:
            run_task(world.service, claim)
        elif step := begin(world.service, claim):
            complete(world.service, claim, step, [Outcome(job.name, Result.DONE) for job in step.jobs])
        spent.append(_spent(begun, 1))
        world.clock.set(world.hour(start + 0.6))
        run_manager(world)
    return [LEASES / sum(1 / rate for rate, _ in spent), sum(each for _, each in spent) / LEASES]


def _now() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


def _spent(begun: tuple[float, float], leases: int = LEASES) -> list[float]:
    """Return how many leases a second that is, and the milliseconds of processor time for each."""
    wall, processor = (now - then for now, then in zip(_now(), begun, strict=True))
    return [leases / wall, 1000 * processor / leases]


if __name__ == "__main__":
    if sys.argv[1:2] == [TURNS]:
        take_turns(sys.argv[2])
    else:
        main()
