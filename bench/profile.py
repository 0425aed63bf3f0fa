"""Profiles the service: `python -m bench.profile post|list|start` prints the slowest functions or imports.

Profiling slows down Python's own code most, so compare functions by share and do not trust the milliseconds.
"""

from __future__ import annotations

import cProfile
import pstats
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from bench.client import ISO
from bench.deployment import host_lease
from bench.fill import BUSY, filled, first_day
from bench.inside import inside
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.inside import Inside

HOSTS: Final = 200
LEASES: Final = 1_000
TIMES: Final = {"post": 200, "list": 10}
SHOWN: Final = 45


def post(api: Inside, number: int) -> None:
    """Create one lease."""
    start = first_day() + timedelta(days=number) + BUSY
    api.ask("POST", "/leases", host_lease("p", start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO)))


def list_leases(api: Inside, _number: int) -> None:
    """List all leases."""
    api.ask("GET", "/leases")


ACTIONS: Final[dict[str, Callable[[Inside, int], None]]] = {"post": post, "list": list_leases}


def profile(name: str, kind: str) -> None:
    """Print the slowest functions, first with and then without the functions that they call."""
    with new_database(kind) as url:
        filled(url, HOSTS, LEASES)
        with inside(url) as api:
            ACTIONS[name](api, TIMES[name])
            with cProfile.Profile() as profiler:
                for number in range(TIMES[name]):
                    ACTIONS[name](api, number)
    for order in ("cumulative", "tottime"):
        pstats.Stats(profiler).sort_stats(order).print_stats(SHOWN)


def profile_start() -> None:
    """Print the slowest imports of `leasehold-standalone`, including what they import themselves."""
    command = [sys.executable, "-X", "importtime", "-c", "import leasehold.cmd.standalone"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()[1:]
    imports = [[word.strip() for word in line.removeprefix("import time:").split("|")] for line in lines]
    imports = [words for words in imports if words[0].isdigit()]
    print(f"{sum(int(words[0]) for words in imports) / 1000:.0f} ms in {len(imports)} modules")
    for own, with_all, name in sorted(imports, key=lambda words: -int(words[1]))[:SHOWN]:
        print(f"{int(with_all) / 1000:8.1f} ms with what it imports  {int(own) / 1000:8.1f} ms itself  {name}")


def main() -> None:
    """Profile what the first argument names; the second may be a kind of database."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name == "start":
        profile_start()
    elif name in ACTIONS:
        profile(name, sys.argv[2] if len(sys.argv) > 2 else "sqlite")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
