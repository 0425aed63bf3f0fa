"""Grants of one pool on a Galera cluster: `python -m bench.cluster` (not a part of `make bench`; it needs three nodes).

Three nodes on this machine, with an API process on each. The same clients create leases of one pool, each of one host
for an hour of its own: first all by the API of one node, then by those of all three, in turns. A batch is one write
set. One that meets a batch of another node is refused there and decided again, so nodes that grant from one pool hinder
each other. Medians over the rounds are printed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.crowd import HOSTS, Wanted, crowd
from bench.deployment import running
from bench.figures import percentile
from bench.fill import filled
from bench.peers.measure import at_once
from tests.cluster.scenes import galera_urls
from tests.servers.galera import GaleraCluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.client import Client

ROUNDS: Final = 3
CLIENTS: Final = 63
EACH: Final = 12
"""Leases of one client in one round."""


def main() -> None:
    """Run the rounds and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--clients", type=int, default=CLIENTS, help="clients in all; a multiple of the nodes")
    parser.add_argument("--each", type=int, default=EACH, help="leases of one client in one round")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        urls = galera_urls(stack.enter_context(GaleraCluster()))
        filled(urls[0], HOSTS)
        apis = [stack.enter_context(running("leasehold-api", database_url=url)) for url in urls]
        count = arguments.clients // len(apis) * len(apis)
        nodes = {"by one node": apis[:1], "by three nodes": apis}
        sides = {where: stack.enter_context(crowd(asked, count)) for where, asked in nodes.items()}
        numbers = itertools.count()
        found: dict[str, list[tuple[float, float]]] = {where: [] for where in sides}
        for number in range(-1, arguments.rounds):
            for where, clients in sides.items():
                # The first round does not count: connections are opened and calendars loaded.
                granted = _granted(clients, arguments.each if number >= 0 else 1, numbers)
                found[where] += [granted] * (number >= 0)
    for where, rounds in found.items():
        rate, late = (median(each) for each in zip(*rounds, strict=True))
        sys.stdout.write(f"{count} clients, {where}: {rate:.0f} leases/s, p99 {late:.0f} ms\n")


def _granted(clients: Sequence[Client], each: int, numbers: Iterator[int]) -> tuple[float, float]:
    """Create so many leases by each client; return how many were granted a second, and p99 of one in ms."""
    wanted = [Wanted(number) for number in itertools.islice(numbers, each * len(clients))]
    begun = time.perf_counter()
    answers = at_once(clients, [partial(Wanted.create, one) for one in wanted])
    wall = time.perf_counter() - begun
    return len(answers) / wall, 1000 * percentile([answer.seconds for answer in answers], 99)


if __name__ == "__main__":
    main()
