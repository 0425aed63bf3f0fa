"""Kill our programs at every step and print the state of the leases afterwards: `python -m tests.fault --help`."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fault import campaign
from tests.fault.outage import outage
from tests.fault.stage import new_stage
from tests.servers import KINDS, SERVERS, server_of_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def main() -> int:
    """Run the kills that the arguments select; return 1 when any verdict is wrong."""
    names = [scene.name for scene in campaign.SCENES]
    parser = argparse.ArgumentParser(prog="python -m tests.fault", description=__doc__)
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--seed", type=int, default=1, help="which way each kill is recovered from, and which sample")
    parser.add_argument("--most", type=int, default=None, help="a sample of so many kills instead of every step")
    parser.add_argument("--all", action="store_true", help="recover from each kill in both ways")
    parser.add_argument("--outlive", action="store_true", help="let a start stand still instead of killing anything")
    parser.add_argument(
        "--outage", type=float, metavar="SECONDS", help="kill the database under clients instead, for so long"
    )
    parser.add_argument("--lanes", type=int, default=campaign.LANES, help="databases to use at the same time")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="where to keep what there was when a kill is not right"
    )
    parser.add_argument("scene", nargs="*", help=f"of {', '.join(names)}; default: all")
    asked = parser.parse_args()
    if unknown := set(asked.scene) - set(names):
        parser.error(f"There is no scene {', '.join(sorted(unknown))}; there are {', '.join(names)}.")
    if asked.outage is not None:
        if asked.database not in SERVERS:
            parser.error(f"--outage needs a database that is a server: --database {' or '.join(SERVERS)}.")
        return _outage(asked.database, asked.outage)
    wanted = asked.scene or (["start now"] if asked.outlive else names)
    scenes = [scene for scene in campaign.SCENES if scene.name in wanted]
    with _databases(asked.database) as create, campaign.stages(create, asked.lanes, asked.keep) as stages:
        rehearsed = campaign.rehearsals(stages, scenes)
        if asked.outlive:
            return 1 if any(verdict.trouble for verdict in campaign.stand_still(stages, rehearsed, _say)) else 0
        kills = campaign.choose(rehearsed, asked.seed, both=asked.all, most=asked.most)
        steps = sum(len(each.steps) for each in rehearsed)
        _say(f"{steps} steps in {len(rehearsed)} scenes, {len(kills)} kills on {asked.database}, seed {asked.seed}")
        verdicts = campaign.carry_out(stages, kills, _say)
    wrong = [verdict for verdict in verdicts if verdict.trouble]
    right = [verdict.seconds for verdict in verdicts if not verdict.trouble]
    _say(f"{len(right)} of {len(verdicts)} right, the slowest of these after {max(right, default=0.0):.1f} s")
    return 1 if wrong else 0


def _outage(kind: str, seconds: float) -> int:
    """Take a database down for this many seconds and print the answers its clients got."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leasehold-fault-")))
        server = stack.enter_context(server_of_kind(kind))
        verdict = outage(server, stack.enter_context(new_stage(server.create_database(), folder)), seconds)
    _say(f"{kind} killed and back at once, then gone for {seconds:g} s; requests by answer: {verdict.answers}")
    _say(f"the longest answer took {verdict.longest:.1f} s; all was right {verdict.right_after:.1f} s after the last")
    for trouble in verdict.trouble:
        _say(trouble)
    return 1 if verdict.trouble else 0


@contextmanager
def _databases(kind: str) -> Iterator[Callable[[], str]]:
    """Yield a function that creates an empty database of this kind and returns its URL."""
    with ExitStack() as stack:
        if kind == "sqlite":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="leasehold-fault-"))
            numbers = itertools.count()
            yield lambda: f"sqlite:///{folder}/{next(numbers)}.db"
        else:
            yield stack.enter_context(server_of_kind(kind)).create_database


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
