"""100,000 leases: the peak memory and the time of an audit, and the memory of an API that answers three lists at once.

Measured on every database, because each driver buffers rows differently.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import requests

from bench.client import Client
from bench.deployment import running
from bench.fill import filled
from bench.memory import resident
from bench.row import Row
from tests.servers import KINDS, new_database

if TYPE_CHECKING:
    from collections.abc import Iterator

LEASES: Final = 100_000
HOSTS: Final = 1_000
LISTS: Final = ("/leases", "/leases", "/os-hosts/allocations")
BUDGET_MIB: Final = 250.0
BUDGET_SECONDS: Final = 15.0
"""For the audit."""
PATIENCE_SECONDS: Final = 900.0
WEIGH: Final = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)
sys.exit(code)
"""
"""Runs a command and prints its peak memory in KiB and its processor time in seconds.

It is small, because the kernel counts the memory of the parent process as well.
"""


def run(*, quick: bool = False) -> list[Row]:
    """Measure on SQLite, MariaDB and PostgreSQL; quick: a tenth of the leases, on SQLite alone."""
    return [row for kind in (KINDS[:1] if quick else KINDS) for row in measure(kind, LEASES // 10 if quick else LEASES)]


def measure(kind: str, leases: int) -> Iterator[Row]:
    """Yield the rows of one kind of database."""
    what = f"{leases:,} leases, {kind}"
    with new_database(kind) as url:
        filled(url, HOSTS, leases)
        audited, busy, seconds = _audit(url)
        yield Row(f"{what}: audit of the database, highest", audited, "MiB", BUDGET_MIB)
        yield Row(f"{what}: audit of the database", seconds, "s", BUDGET_SECONDS)
        yield Row(f"{what}: audit of the database, processor time of its process", busy, "s")
        with running("leasehold-api", database_url=url) as api, Client(api.url) as client:
            client.ask("GET", "/leases?limit=1").expect(200)
            begun = perf_counter()
            with ThreadPoolExecutor(len(LISTS)) as threads:
                sizes = list(threads.map(lambda path: _size(api.url, path), LISTS))
            listed, taken = resident(api)["VmHWM"], perf_counter() - begun
    yield Row(f"{what}: API with three lists at once, highest", listed, "MiB", BUDGET_MIB)
    yield Row(f"{what}: three lists at once", taken, "s")
    yield Row(f"{what}: the largest of these lists", max(sizes) / 2**20, "MiB")


def _size(url: str, path: str) -> int:
    """Return how many bytes a list has, without keeping them."""
    with requests.get(url + path, stream=True, timeout=PATIENCE_SECONDS) as answer:
        answer.raise_for_status()
        return sum(len(piece) for piece in answer.iter_content(2**20))


def _audit(url: str) -> tuple[float, float, float]:
    """Return the peak memory in MiB, the processor time and the seconds of a process that audits the database."""
    program = Path(sys.executable).with_name("leasehold-manage")
    command = [sys.executable, "-c", WEIGH, str(program), "--database-url", url, "audit", "--database-only"]
    begun = perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    seconds = perf_counter() - begun
    peak, busy = done.stdout.split()
    return int(peak) / 1024, float(busy), seconds
