"""The memory of a real API process with 1,000,000 allocations in its calendar."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.client import MINUTES, Client
from bench.deployment import host_lease
from bench.fill import BUSY, filled, first_day
from bench.row import Row
from tests.processes import running
from tests.servers import new_database

if TYPE_CHECKING:
    from tests.processes import Program

HOSTS: Final = 10_000
PER_LEASE: Final = 10
ALLOCATIONS: Final = 1_000_000
MIB: Final = 300.0


def run(*, quick: bool = False) -> list[Row]:
    """Measure before and after the first decision, which loads everything; quick: with a tenth."""
    count = ALLOCATIONS // 10 if quick else ALLOCATIONS
    with new_database("sqlite") as url:
        filled(url, HOSTS, count // PER_LEASE, per_lease=PER_LEASE)
        with running("leasehold-api", database_url=url) as api, Client(api.url) as client:
            before = _resident(api)["VmRSS"]
            first, second = (_decide(client, number) for number in range(2))
            after = _resident(api)
    name = f"{count:,} allocations"
    return [
        Row(f"API process before its first decision, {name}, resident", before, "MiB"),
        Row(f"API process after it, {name}, resident", after["VmRSS"], "MiB", MIB),
        Row(f"API process, {name}, highest", after["VmHWM"], "MiB"),
        Row(f"first decision of a process, {name}", first, "s"),
        Row(f"second decision of a process, {name}", 1000 * second, "ms"),
    ]


def _decide(client: Client, number: int) -> float:
    start = first_day() + BUSY + timedelta(hours=number)
    body = host_lease("weighed", start.strftime(MINUTES), (start + timedelta(hours=1)).strftime(MINUTES))
    return client.ask("POST", "/leases", body).expect(201).seconds


def _resident(program: Program) -> dict[str, float]:
    """Return what the kernel says of the process, in MiB."""
    lines = Path(f"/proc/{program.process.pid}/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}
