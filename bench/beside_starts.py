"""Compare the starts of two checkouts: `python -m bench.beside_starts FOLDER` (not a part of `make bench`).

In each turn a manager of this checkout, or one of the other, which has its own environment in `.venv`, starts leases
that are all due at one second, each on its own host, on a new database with durable commits. Every second round begins
with the other one. The sandbox answers at once, or `--latency` milliseconds after each call. Medians over the rounds
are printed, and the medians of the ratios: leases started a second between the first tenth of them and the last, and
the processor time of the manager for each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.beside_crowd import FILL
from bench.claims import LEASES, rate_of
from bench.deployment import running
from bench.fill import into_freepool
from bench.peers.measure import processor_seconds
from bench.throughput import KINDS
from bench.watch import seconds_until_active
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.engine import open_engine
from tests.processes import PATH
from tests.servers import server_of_kind

if TYPE_CHECKING:
    from tests.servers import Server

ROUNDS: Final = 3
AHEAD: Final = timedelta(seconds=6)
"""Enough time to insert the leases."""
TO_START: Final = """
import sys
from datetime import datetime
from bench.fill import fill_to_start
print(*fill_to_start(sys.argv[1], [datetime.fromisoformat(sys.argv[2])] * int(sys.argv[3])))
"""
FIGURES: Final = ("/s", "ms of processor time")


def main() -> None:
    """Run both checkouts in turns, on each database that is named, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.beside_starts", description=__doc__)
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--leases", type=int, default=LEASES)
    parser.add_argument("--latency", type=int, default=0, help="milliseconds of each call to the cloud")
    parser.add_argument("--database", choices=KINDS, action="append", help="default: each")
    arguments = parser.parse_args()
    roots = (arguments.folder.resolve(), Path(__file__).resolve().parent.parent)
    for kind in arguments.database or KINDS:
        rounds = []
        with server_of_kind(kind) as server:
            for number in range(arguments.rounds):
                order = (0, 1) if number % 2 else (1, 0)
                turn = {side: _started(server, roots[side], arguments.leases, arguments.latency) for side in order}
                rounds.append((turn[0], turn[1]))
        for place, unit in enumerate(FIGURES):
            before, now = (median(both[side][place] for both in rounds) for side in (0, 1))
            ratio = median(new[place] / old[place] for old, new in rounds)
            sys.stdout.write(f"{KINDS[kind]}, started: {before:.2f} {unit} before, {now:.2f} now, {ratio:.2f} times\n")
        sys.stdout.flush()


def _started(server: Server, root: Path, leases: int, latency_ms: int) -> tuple[float, float]:
    """Return how many leases a second a manager of a checkout starts, and its processor time for each."""
    url, programs = server.create_database(), root / ".venv" / "bin"
    own = partial(subprocess.run, cwd=root, check=True, text=True, stdout=subprocess.PIPE)
    own([programs / "python", "-c", FILL, url, str(leases)])
    engine = open_engine(url)
    into_freepool(engine)
    if latency_ms:
        sandbox(engine).faults.set(Fault("*", latency_ms=latency_ms))
    engine.dispose()
    path = f"{programs}:{PATH}"
    with running("leasehold-manager", database_url=url, environment={"PATH": path}) as manager:
        due = datetime.now(UTC).replace(microsecond=0) + AHEAD
        ids = own([programs / "python", "-c", TO_START, url, due.isoformat(), str(leases)]).stdout.split()
        time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds()))
        spent = processor_seconds([manager.process.pid])
        lags = sorted(seconds_until_active(url, dict.fromkeys(ids, due), look_every=0.1).values())
        spent = processor_seconds([manager.process.pid]) - spent
    server.drop_database(url)
    return rate_of(lags), 1000 * spent / leases


if __name__ == "__main__":
    main()
