"""A real API process with 10,000 hosts and up to 1,000,000 allocations: its memory, and how long its answers take.

And the peak memory of an audit, and of an API that answers three administrators' lists at once, over 100,000 leases.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import requests

from bench.client import MINUTES, Answer, Client
from bench.deployment import host_lease, running
from bench.figures import percentile
from bench.fill import BUSY, CELL, filled, first_day
from bench.row import Point, Row
from tests.servers import new_database

if TYPE_CHECKING:
    from tests.processes import Program

HOSTS: Final = 10_000
PER_LEASE: Final = 10
SIZES: Final = (100_000, 1_000_000)
BUDGET_MIB: Final = {1_000_000: 300.0}
TIMES: Final = 30
LEASES: Final = 100_000
LEASED_HOSTS: Final = 1_000
LISTS: Final = ("/leases", "/leases", "/os-hosts/allocations")
BUDGET_LISTS_MIB: Final = 250.0
MOST_ASKED: Final = HOSTS - 1
"""More than are free while any of the filled leases lasts, so it is refused and the nearest window is searched."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure before and after the first decision, which loads everything; quick: the smaller sizes alone."""
    small = _measure(SIZES[0], None)
    return small + (_long_lists(LEASES // 10) if quick else [*_measure(SIZES[1], small), *_long_lists(LEASES)])


def _long_lists(leases: int) -> list[Row]:
    """Return what an audit and three lists at once need at most."""
    with new_database("sqlite") as url:
        filled(url, LEASED_HOSTS, leases)
        audited, seconds = _peak_of_audit(url)
        with running("leasehold-api", database_url=url) as api, Client(api.url) as client:
            client.ask("GET", "/leases?limit=1").expect(200)
            begun = perf_counter()
            with ThreadPoolExecutor(len(LISTS)) as threads:
                sizes = list(threads.map(lambda path: _size(api.url, path), LISTS))
            listed, taken = resident(api)["VmHWM"], perf_counter() - begun
    what = f"{leases:,} leases"
    return [
        Row(f"{what}: audit of the books, highest", audited, "MiB", BUDGET_LISTS_MIB),
        Row(f"{what}: audit of the books", seconds, "s"),
        Row(f"{what}: API with three lists at once, highest", listed, "MiB", BUDGET_LISTS_MIB),
        Row(f"{what}: three lists at once", taken, "s"),
        Row(f"{what}: the largest of these lists", max(sizes) / 2**20, "MiB"),
    ]


def _size(url: str, path: str) -> int:
    """Return how many bytes a list has, without keeping them."""
    with requests.get(url + path, stream=True, timeout=600) as answer:
        answer.raise_for_status()
        return sum(len(piece) for piece in answer.iter_content(2**20))


def _peak_of_audit(url: str) -> tuple[float, float]:
    """Return the most memory in MiB, and the seconds, of a process that audits the books."""
    begun = perf_counter()
    program = Path(sys.executable).with_name("leasehold-manage")
    command = [str(program), "--database-url", url, "audit", "--books-only"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        message = f"The audit ended with {process.returncode}."
        raise RuntimeError(message)
    return usage.ru_maxrss / 1024, perf_counter() - begun


def _measure(count: int, smaller: list[Row] | None) -> list[Row]:
    """Return the rows of one size; they compare with the rows of the smaller one."""
    with new_database("sqlite") as url:
        filled(url, HOSTS, count // PER_LEASE, per_lease=PER_LEASE)
        with running("leasehold-api", database_url=url) as api, Client(api.url) as client:
            before = resident(api)["VmRSS"]
            first, *others = (_grant(client, number).seconds for number in range(TIMES + 1))
            granted = resident(api)["VmRSS"]
            refusals = [_refuse(client, number).seconds for number in range(TIMES)]
            after = resident(api)
    what = f"{HOSTS:,} hosts, {count:,} allocations"
    figures = (
        ("API process before its first decision, resident", before, "MiB"),
        ("API process after grants and refusals, resident", after["VmRSS"], "MiB"),
        ("API process after grants alone, resident", granted, "MiB"),
        ("API process, highest", after["VmHWM"], "MiB"),
        ("first decision of a process", first, "s"),
        ("POST a lease, p50", 1000 * percentile(others, 50), "ms"),
        ("POST a lease, highest", 1000 * max(others), "ms"),
        ("POST that is refused with the nearest window, p50", 1000 * percentile(refusals, 50), "ms"),
    )
    points = {1: Point("memory", "API process", count)}
    return [
        Row(
            f"{what}: {name}",
            measured,
            unit,
            BUDGET_MIB.get(count) if number == 1 else None,
            smaller[number].measured if smaller else None,
            "a tenth's" if smaller else "",
            point=points.get(number),
        )
        for number, (name, measured, unit) in enumerate(figures)
    ]


def _grant(client: Client, number: int) -> Answer:
    return _ask(client, number, 1).expect(201)


def _refuse(client: Client, number: int) -> Answer:
    return _ask(client, -number - 1, MOST_ASKED).expect(409)


def _ask(client: Client, number: int, hosts: int) -> Answer:
    """Ask for hosts in an hour in which all of them are free, or with a negative number in which many are not."""
    day = first_day() + abs(number) % 5 * CELL
    start = day + (BUSY if number >= 0 else timedelta(hours=2))
    body = host_lease("weighed", start.strftime(MINUTES), (start + timedelta(hours=1)).strftime(MINUTES), hosts)
    return client.ask("POST", "/leases", body)


def resident(program: Program) -> dict[str, float]:
    """Return what the kernel says of the process, in MiB."""
    lines = Path(f"/proc/{program.process.pid}/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}
