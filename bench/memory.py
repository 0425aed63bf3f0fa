"""A real API process with 10,000 hosts and up to 1,000,000 allocations: its memory, and how long its answers take."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
MOST_ASKED: Final = HOSTS - 1
"""More hosts than are free during a filled lease: the request is refused, and the nearest window is searched."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure before and after the first decision, which loads everything; quick: the smaller sizes alone."""
    small = _measure(SIZES[0], None)
    return small if quick else [*small, *_measure(SIZES[1], small)]


def _measure(count: int, smaller: list[Row] | None) -> list[Row]:
    """Return the rows of one size; they compare with those of the smaller size."""
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
    """Ask for hosts in an hour in which all are free, or with a negative number in which many are not."""
    day = first_day() + abs(number) % 5 * CELL
    start = day + (BUSY if number >= 0 else timedelta(hours=2))
    body = host_lease("weighed", start.strftime(MINUTES), (start + timedelta(hours=1)).strftime(MINUTES), hosts)
    return client.ask("POST", "/leases", body)


def resident(program: Program) -> dict[str, float]:
    """Return the process's resident memory and its peak in MiB, as the kernel reports them."""
    lines = Path(f"/proc/{program.process.pid}/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}
