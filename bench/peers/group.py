"""Beside Slurm, the fastest system that reserves ahead: the same requests, in turns, on one machine.

Both have 1,000 equal hosts and no authentication. Slurm 22.05 is unpacked from Debian's packages and called through
its own library; Leasehold runs as two API processes and a manager on MariaDB, and is called over HTTP.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.fill import first_day
from bench.peers import decisions
from bench.peers.kills import killed
from bench.peers.leasehold import Leasehold, MemoryMariaDB, Store
from bench.peers.measure import OPERATIONS, Sample, Turn, measure
from bench.peers.page import SPREAD
from bench.peers.slurm import Slurm
from bench.peers.workload import HOSTS, existing
from bench.row import Row
from tests.servers import MariaDB, ServerMissingError
from tests.servers.galera import GaleraCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bench.peers.peer import Peer

SEED: Final = 20_261_128
SLURM: Final = "Slurm, an answer means memory"
OURS: Final[Mapping[str, Callable[[], MariaDB | GaleraCluster]]] = {
    "Leasehold, an answer means memory": MemoryMariaDB,
    "Leasehold, an answer means the log on the disk": MariaDB,
    "Leasehold, an answer means two nodes": GaleraCluster,
}
"""What is killed: with the log, and with the second node, nothing that was acknowledged may be gone."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    present: Sequence[int] = (10, 1_000, 5_000)
    clients: Sequence[int] = (1, 8, 32)
    rounds: int = 5
    writes: int = 160
    lists: int = 32
    changes: int = decisions.COUNT
    kills: int = 5


QUICK: Final = Sizes(present=(10, 1_000), rounds=1, writes=32, lists=32, changes=60, kills=2)


def run(*, quick: bool = False) -> list[Row]:
    """Measure requests, have decisions judged, and kill both; quick: fewer reservations, one round."""
    sizes = QUICK if quick else Sizes()
    begin = int(first_day().timestamp())
    with Slurm() as slurm:
        with Store(MariaDB()) as store, Leasehold(store) as ours:
            rows = [row for present in sizes.present for row in _requests([slurm, ours], present, sizes, begin)]
            print("decisions", flush=True)
            found = [decisions.judged(each, SEED, begin, sizes.changes) for each in (ours, slurm)]
            rows += decisions.rows(*found)
        print(f"kills: {SLURM}", flush=True)
        rows += killed(slurm, SEED, begin, sizes.kills).rows(SLURM, durable=False)
    return [*rows, *_our_kills(sizes, begin)]


def _requests(peers: Sequence[Peer], present: int, sizes: Sizes, begin: int) -> Iterator[Row]:
    for peer in peers:
        print(f"{peer.name} begins with {present:,} reservations", flush=True)
        peer.begin(HOSTS, existing(SEED, present, begin))
    # What is done for the first time takes longer: caches, connections, code.
    measure(peers, Turn(SEED, -1, max(sizes.clients), begin, max(sizes.clients), 1), defaultdict(Sample))
    samples: dict[int, dict[tuple[str, str], Sample]] = {each: defaultdict(Sample) for each in sizes.clients}
    for number in range(sizes.rounds):
        for clients in sizes.clients:
            measure(peers, Turn(SEED, number, clients, begin, sizes.writes, sizes.lists), samples[clients])
    for kind in OPERATIONS:
        for clients, found in samples.items():
            what = f"{kind}, {present:,} present, {clients} client{'s' if clients > 1 else ''}"
            yield from _rows(what, *(found[name, kind] for name in ("Leasehold", "Slurm")))


def _rows(what: str, ours: Sample, theirs: Sample) -> Iterator[Row]:
    for percent in (50, 99):
        yield Row(
            f"{what}: p{percent}", ours.milliseconds(percent), "ms", None, theirs.milliseconds(percent), "Slurm's"
        )
    used = ours.processor_milliseconds, theirs.processor_milliseconds
    yield Row(f"{what}: processor time", used[0], "ms", None, used[1], "Slurm's")
    yield Row(f"{what}: {SPREAD}", ours.spread, "", None, theirs.spread, "Slurm's")


def _our_kills(sizes: Sizes, begin: int) -> Iterator[Row]:
    for name, make in OURS.items():
        print(f"kills: {name}", flush=True)
        with ExitStack() as stack:
            try:
                store = stack.enter_context(Store(make()))
            except ServerMissingError as error:
                print(f"left out: {error}")
                continue
            ours = stack.enter_context(Leasehold(store))
            yield from killed(ours, SEED, begin, sizes.kills).rows(name, durable="memory" not in name)
