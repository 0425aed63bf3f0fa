"""Compare two checkouts with a crowd: `python -m bench.beside_crowd FOLDER` (not a part of `make bench`).

An API process of this checkout and one of the other (or `--apis` of each), which has its own environment in `.venv`,
take turns on one server of a database with durable commits, so that other work on the machine slows both. Every second
round begins with the other one. The clients of both are of this checkout. Medians over the rounds are printed, and the
medians of the ratios: leases created, amended and deleted a second (`bench/crowd.py`), p50 and p99 of one, and the
processor time of the API.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, TypeAlias

from bench.crowd import CLIENTS, EACH, HOSTS, VERBS, Spent, crowd, measured
from bench.deployment import running
from bench.throughput import KINDS
from tests.processes import PATH
from tests.servers import server_of_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bench.client import Client
    from tests.processes import Program
    from tests.servers import Server

Side: TypeAlias = "tuple[Sequence[Program], Sequence[Client]]"
"""The API processes of a checkout, and their clients."""
ROUNDS: Final = 5
FIGURES: Final[dict[str, Callable[[Spent], float]]] = {
    "/s": lambda spent: spent.rate,
    "ms p50": lambda spent: spent.ms(50),
    "ms p99": lambda spent: spent.ms(99),
    "ms of processor time": lambda spent: spent.processor_ms,
}
FILL: Final = "import sys; from bench.fill import filled; filled(sys.argv[1], int(sys.argv[2]))"


def main() -> None:
    """Run both checkouts in turns, on each database that is named, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.beside_crowd", description=__doc__)
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--each", type=int, default=EACH, help="leases of one client in one round")
    parser.add_argument("--apis", type=int, default=1, help="API processes of both")
    parser.add_argument("--threads", type=int, default=16, help="[api] threads of both")
    parser.add_argument("--database", choices=KINDS, action="append", help="default: each")
    arguments = parser.parse_args()
    here = Path(__file__).resolve().parent.parent
    for kind in arguments.database or KINDS:
        with ExitStack() as stack:
            server = stack.enter_context(server_of_kind(kind))
            sides = [_opened(stack, server, root, arguments) for root in (arguments.folder.resolve(), here)]
            found = list(_rounds(sides, arguments.rounds, arguments.each))
        sys.stdout.write("".join(f"{KINDS[kind]}, {line}\n" for line in lines(found)))
        sys.stdout.flush()


def _opened(stack: ExitStack, server: Server, root: Path, arguments: argparse.Namespace) -> Side:
    """Run the API of a checkout on a new database that the checkout has filled; return it and its clients."""
    url, programs = server.create_database(), root / ".venv" / "bin"
    subprocess.run([programs / "python", "-c", FILL, url, str(HOSTS)], cwd=root, check=True)
    path, options = f"{programs}:{PATH}", {"api": {"threads": arguments.threads}}
    run = partial(running, "leasehold-api", database_url=url, options=options, environment={"PATH": path})
    apis = [stack.enter_context(run()) for _ in range(arguments.apis)]
    return apis, stack.enter_context(crowd(apis, arguments.clients))


def _rounds(sides: Sequence[Side], rounds: int, each: int) -> Iterator[list[dict[str, Spent]]]:
    """Yield what each side has spent in each round, after one of one lease that does not count."""
    numbers = itertools.count()
    for apis, clients in sides:
        measured(apis, clients, 1, numbers)
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        spent = {side: measured(*sides[side], each, numbers) for side in order}
        yield [spent[0], spent[1]]


def lines(rounds: Sequence[Sequence[dict[str, Spent]]]) -> Iterable[str]:
    """Yield a line for each figure: the median of each side, and of the ratios."""
    for verb in VERBS:
        for unit, figure in FIGURES.items():
            pairs = [tuple(figure(side[verb]) for side in both) for both in rounds]
            before, now = (median(side) for side in zip(*pairs, strict=True))
            ratio = median(new / old for old, new in pairs)
            yield f"{verb}: {before:.2f} {unit} before, {now:.2f} now, {ratio:.2f} times"


if __name__ == "__main__":
    main()
