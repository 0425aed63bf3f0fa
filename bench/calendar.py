"""How fast the calendar decides, and how much memory it takes: the first rows of the budgets in design §10.

Run with `python -m bench.calendar`. The pool has 10,000 hosts; half are leased whole, one lease after the other, half
carry instances. Every figure uses the sizes and the seed below.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

import numpy as np

from leasehold.calendar.index import AllocationColumns, Calendar
from leasehold.calendar.profile import Units, free_of
from leasehold.calendar.search import SlotSpread, Sought, earliest_free, earliest_slots
from leasehold.cmd.memory import keep_freed_memory
from leasehold.leasing.deciding.decide import Asked, Terms
from leasehold.leasing.deciding.free_windows import Windows
from leasehold.model.budget import Budget, nothing_to_check
from leasehold.model.properties import parse
from leasehold.model.resource import HOST, HOST_POOL, Resource
from leasehold.model.terms.margins import Margins
from leasehold.model.windows import Window, from_seconds
from leasehold.resource_types.host.kind import HostKind, HostRequest
from leasehold.resource_types.instance.kind import InstanceKind, InstanceRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leasehold.calendar.snapshot import Snapshot

HOSTS: Final = 10_000
SIZES: Final = (200_000, 1_000_000)
SEED: Final = 20_261_121
NOW: Final = 1_900_000_020
HOUR: Final = 3600
CELL: Final = 4 * 24 * HOUR
DURATIONS: Final = (HOUR, 24 * HOUR, 7 * 24 * HOUR, 30 * 24 * HOUR)
NOTHING: Final = AllocationColumns((), (), (), (), (), (), (), ())

DECISION_MS: Final = {200_000: 2.0, 1_000_000: 10.0}
EARLIEST_MS: Final = {200_000: 50.0, 1_000_000: 250.0}
PROFILE_MS: Final = {1_000_000: 50.0}
SEARCH_MS: Final = {1_000_000: 250.0}
PROFILED: Final = 1_000
"""The hosts whose profile is counted."""
NO_BUDGET: Final[Mapping[int, float]] = {}
RESIDENT_MIB: Final = {1_000_000: 300.0}


@dataclass(frozen=True)
class Result:
    """One measured figure beside its budget; a figure without one is for comparison between runs."""

    name: str
    allocations: int
    figure: str
    value: float
    unit: str
    budget: float | None = None


def hosts(count: int = HOSTS) -> list[Resource]:
    """Return the pool: five models of host in ten zones."""
    rng = np.random.default_rng(SEED)
    models = rng.integers(0, 5, count).tolist()
    zones = rng.integers(0, 10, count).tolist()
    return [
        Resource(
            number=n + 1,
            id=str(n + 1),
            type=HOST,
            pool=HOST_POOL,
            capacity={"VCPU": 64, "MEMORY_MB": 262_144, "DISK_GB": 2_000},
            max_unit={"VCPU": 64},
            attributes={
                "hypervisor_hostname": f"cmp-{n:05}",
                "vcpus": 16 << (model % 3),
                "memory_mb": 262_144,
                "local_gb": 2_000,
                "hypervisor_type": "QEMU",
                "status": "up",
            },
            properties={"model": f"m{model}", "zone": f"z{zone}"},
            traits=frozenset({"HW_CPU_X86_AVX2"}) if model else frozenset(),
        )
        for n, (model, zone) in enumerate(zip(models, zones, strict=True))
    ]


def chunks(allocations: int, count: int = HOSTS) -> Iterator[AllocationColumns]:
    """Yield the allocations as the database does: in the order of ids, not of hosts, in chunks of two per host."""
    rng = np.random.default_rng(SEED)
    per_chunk = 2 * count
    for chunk in range(allocations // per_chunk):
        order = rng.permutation(per_chunk)
        number = order % count
        whole = number % 2 == 0
        begin = NOW + (2 * chunk + order // count) * CELL - CELL
        start = begin + (CELL * rng.random(per_chunk) ** 3).astype(np.int64)
        tight = begin + CELL - ((begin + CELL - start) * rng.random(per_chunk) ** 3).astype(np.int64)
        loose = start + (rng.exponential(15 * 24 * HOUR, per_chunk)).astype(np.int64) + HOUR
        vcpus, slots = 2 ** rng.integers(0, 4, per_chunk), rng.integers(1, 4, per_chunk)
        memory, disks = 2 ** rng.integers(0, 3, per_chunk), rng.integers(1, 9, per_chunk)
        owners = rng.bytes(16 * per_chunk)
        yield AllocationColumns(
            ids=range(chunk * per_chunk + 1, (chunk + 1) * per_chunk + 1),
            resource_numbers=(number + 1).tolist(),
            starts=start.tolist(),
            ends=np.where(whole, tight, loose).tolist(),
            slots=np.where(whole, 1, slots).tolist(),
            demands=[
                None if all_of_it else f'{{"DISK_GB": {20 * d}, "MEMORY_MB": {2048 * m * n}, "VCPU": {n}}}'
                for all_of_it, n, m, d in zip(
                    whole.tolist(), vcpus.tolist(), memory.tolist(), disks.tolist(), strict=True
                )
            ],
            reservation_ids=[str(UUID(bytes=owners[16 * n : 16 * n + 16])) for n in range(per_chunk)],
            released=[False] * per_chunk,
        )


def loaded(allocations: int, count: int = HOSTS) -> Calendar:
    """Return a calendar with `allocations` current and future allocations on `count` hosts."""
    calendar = Calendar(HOST_POOL)
    calendar.update(0, hosts(count), NOTHING)
    for generation, chunk in enumerate(chunks(allocations, count)):
        calendar.update(generation, (), chunk)
    calendar.snapshot(from_seconds(NOW))
    return calendar


class Stopwatch:
    """Collects milliseconds of processor time, which other work on the machine does not change, and of wall time."""

    def __init__(self) -> None:
        self.busy: list[float] = []
        self.wall: list[float] = []

    def __enter__(self) -> None:
        self._begin = time.thread_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.busy.append((time.thread_time() - self._begin[0]) * 1000)
        self.wall.append((time.perf_counter() - self._begin[1]) * 1000)

    def results(self, name: str, allocations: int, budget: float | None = None) -> Iterator[Result]:
        """Yield the figures; the budget is for processor time."""
        yield Result(name, allocations, "p50", float(np.percentile(self.busy, 50)), "ms")
        yield Result(name, allocations, "p99", float(np.percentile(self.busy, 99)), "ms", budget)
        yield Result(name, allocations, "p99 wall", float(np.percentile(self.wall, 99)), "ms")


class Requests:
    """Repeatable requests: any start within the horizon, every duration, several expressions and amounts."""

    def __init__(self, allocations: int, count: int = HOSTS) -> None:
        self.hosts = count
        self._rng = np.random.default_rng(SEED + 1)
        self._horizon = allocations // count * CELL

    def window(self) -> Window:
        start = NOW - NOW % 60 + int(self._rng.integers(0, self._horizon)) // 60 * 60
        return Window.of_seconds(start, start + int(self._rng.choice(DURATIONS)))

    def duration(self) -> timedelta:
        return timedelta(seconds=int(self._rng.choice(DURATIONS)))

    def expression(self) -> str:
        model, zone, other = self._rng.integers(0, 5), self._rng.integers(0, 10), self._rng.integers(0, 10)
        return json.dumps(
            ["and", [">=", "$vcpus", "32"], ["!=", "$model", f"m{model}"], ["in", "$zone", f"z{zone}", f"z{other}"]]
        )

    def demand(self) -> dict[str, int]:
        vcpus = int(2 ** self._rng.integers(0, 4))
        return {"VCPU": vcpus, "MEMORY_MB": 4096 * vcpus, "DISK_GB": 20 * vcpus}

    def amount(self, most: int) -> int:
        """Return an amount: mostly small, sometimes nearly everything."""
        return max(1, round(most * self._rng.random() ** 3))


def decide_hosts(snapshot: Snapshot, requests: Requests) -> None:
    """Decide a host lease: parse, match, free, pick."""
    candidates = snapshot.eligible.bookable() & snapshot.eligible.matching(
        parse(requests.expression(), "resource_properties")
    )
    free = candidates & snapshot.free(requests.window())
    snapshot.numbers[np.flatnonzero(free)[: requests.amount(50)]].tolist()


def decide_instances(snapshot: Snapshot, requests: Requests) -> None:
    """Decide an instance lease: count slots and pick, hosts in use first; some requests name properties."""
    wanted = requests.expression() if requests.amount(2) == 1 else ""
    candidates = snapshot.eligible.bookable() & snapshot.eligible.matching(parse(wanted, "resource_properties"))
    window, amount = requests.window(), requests.amount(200)
    rows = np.flatnonzero(candidates)
    rows = rows[np.argsort(~snapshot.carrying(window)[rows], kind="stable")]
    counts = snapshot.slots_until(window, requests.demand(), rows, lambda counts: int(counts.sum()) >= amount)
    used = rows[: int(np.searchsorted(np.cumsum(counts[rows]), amount)) + 1]
    snapshot.numbers[used[counts[used] > 0]].tolist()


def count_instances(snapshot: Snapshot, requests: Requests) -> None:
    """Count the slots on all hosts, as a refusal does to report their number."""
    snapshot.slots(requests.window(), requests.demand())


def find_hosts(snapshot: Snapshot, requests: Requests) -> None:
    """Search the earliest host lease, for up to half of all hosts."""
    amount, every = requests.amount(requests.hosts // 2), snapshot.eligible.bookable()
    earliest_free(snapshot, every, amount, Sought(from_seconds(NOW), requests.duration(), margin=timedelta(minutes=10)))


def find_instances(snapshot: Snapshot, requests: Requests) -> None:
    """Search the earliest instance lease for up to half of what the pool holds, in every way to spread the slots."""
    demand, every = requests.demand(), snapshot.eligible.bookable()
    spread = list(SlotSpread)[requests.amount(1000) % 3]
    room = {SlotSpread.ANY: requests.hosts * 64 // demand["VCPU"] // 2, SlotSpread.ONE_HOST: 64 // demand["VCPU"]}
    amount = requests.amount(room.get(spread, requests.hosts // 2))
    earliest_slots(snapshot, every, demand, amount, spread, Sought(from_seconds(NOW), requests.duration()))


def search_windows(snapshot: Snapshot, requests: Requests) -> None:
    """Search the first window of a lease of hosts and of instances, as `POST /v1/availability/search` does."""
    least, size = requests.amount(50), requests.demand()
    sizes = InstanceRequest(requests.amount(200), size["VCPU"], size["MEMORY_MB"], size["DISK_GB"], None, "")
    asked = [Asked(HostKind(), HostRequest(least, least, "", requests.expression())), Asked(InstanceKind(), sizes)]
    length, begin = requests.duration(), from_seconds(NOW)
    terms = Terms(Window(begin, begin + length), length, Margins(), Budget(60.0))
    Windows({HOST_POOL: snapshot}, asked, terms).first(NOW)


def profile_hosts(snapshot: Snapshot, requests: Requests) -> None:
    """Count a month of free hosts among 1,000 of them."""
    _profile(snapshot, requests, None)


def profile_slots(snapshot: Snapshot, requests: Requests) -> None:
    """Count a month of free slots on 1,000 hosts."""
    _profile(snapshot, requests, requests.demand())


def _profile(snapshot: Snapshot, requests: Requests, demand: Mapping[str, int] | None) -> None:
    among = snapshot.eligible.bookable()
    among[np.flatnonzero(among)[PROFILED:]] = False
    start, _ = requests.window().seconds
    free_of(snapshot, Units(among, demand), (start, start + DURATIONS[-1]), 0).steps(nothing_to_check)


def measure(
    calendar: Calendar, action: Callable[[Snapshot, Requests], None], times: int, requests: Requests
) -> Stopwatch:
    """Return the milliseconds of each of `times` calls, including a fresh snapshot."""
    action(calendar.snapshot(from_seconds(NOW)), requests)
    clock = Stopwatch()
    for second in range(times):
        with clock:
            action(calendar.snapshot(from_seconds(NOW + second)), requests)
    return clock


def timings(allocations: int, calls: int = 500, searches: int = 200) -> Iterator[Result]:
    """Yield the figures of one size."""
    begin = time.perf_counter()
    calendar = loaded(allocations)
    yield Result("load", allocations, "once", time.perf_counter() - begin, "s")
    for name, action, times, budget in (
        ("decision, hosts", decide_hosts, calls, DECISION_MS),
        ("decision, instances", decide_instances, calls, DECISION_MS),
        ("slots of all hosts", count_instances, calls, NO_BUDGET),
        ("earliest, hosts", find_hosts, searches, EARLIEST_MS),
        ("earliest, instances", find_instances, searches, EARLIEST_MS),
        ("search, hosts and instances", search_windows, searches, SEARCH_MS),
        ("profile of a month, hosts", profile_hosts, searches, PROFILE_MS),
        ("profile of a month, slots", profile_slots, searches, PROFILE_MS),
    ):
        spent = measure(calendar, action, times, Requests(allocations))
        yield from spent.results(name, allocations, budget.get(allocations))
    yield from updates(calendar, allocations, calls).results("update of 10 rows", allocations)


def updates(calendar: Calendar, allocations: int, calls: int) -> Stopwatch:
    """Return the times of updates, each of five new and five changed allocations."""
    rng = np.random.default_rng(SEED + 2)
    clock = Stopwatch()
    for call in range(calls):
        ids = [
            *range(allocations + 5 * call + 1, allocations + 5 * call + 6),
            *rng.integers(1, allocations, 5).tolist(),
        ]
        start = NOW + int(rng.integers(0, 1000)) * HOUR
        columns = AllocationColumns(
            ids=ids,
            resource_numbers=rng.integers(1, HOSTS + 1, 10).tolist(),
            starts=[start] * 10,
            ends=[start + 10 * HOUR] * 10,
            slots=[1] * 10,
            demands=[None] * 10,
            reservation_ids=[str(UUID(int=call + 1))] * 10,
            released=[False] * 10,
        )
        with clock:
            calendar.update(call, (), columns)
            calendar.snapshot(from_seconds(NOW))
    return clock


def resident() -> dict[str, float]:
    """Return this process's memory in MiB, now and at its highest."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    fields = {words[0]: words[1] for words in lines if len(words) > 1}
    return {"now": int(fields["VmRSS:"]) / 1024, "highest": int(fields["VmHWM:"]) / 1024}


def weigh(allocations: int) -> dict[str, float]:
    """Return the memory of a process with a whole service's libraries and one calendar, after some decisions."""
    import falcon  # noqa: F401, PLC0415 - only the measured process needs it
    import pydantic  # noqa: F401, PLC0415
    import sqlalchemy  # noqa: F401, PLC0415

    baseline = resident()["now"]
    calendar = loaded(allocations)
    requests = Requests(allocations)
    for _ in range(20):
        for action in (decide_hosts, decide_instances, find_hosts, find_instances):
            action(calendar.snapshot(from_seconds(NOW)), requests)
    return {"baseline": baseline, **resident()}


def memory(allocations: int) -> Iterator[Result]:
    """Yield the memory of a fresh process, so that nothing else is counted."""
    command = [sys.executable, "-c", f"import json, bench.calendar as b; print(json.dumps(b.weigh({allocations})))"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    figures = json.loads(answer.stdout)
    yield Result("memory before loading", allocations, "resident", figures["baseline"], "MiB")
    yield Result("memory", allocations, "resident", figures["now"], "MiB", RESIDENT_MIB.get(allocations))
    yield Result("memory", allocations, "highest", figures["highest"], "MiB")


def run() -> list[Result]:
    """Measure everything, with the memory settings of our programs; takes about a minute."""
    keep_freed_memory()
    results = [result for size in SIZES for result in timings(size)]
    return [*results, *memory(SIZES[-1])]


def main() -> None:
    """Print one line per figure, and as JSON with `--json`."""
    results = run()
    if "--json" in sys.argv:
        print(json.dumps([asdict(result) for result in results], indent=1))
        return
    for result in results:
        budget = "" if result.budget is None else f"   budget {result.budget:g}"
        print(
            f"{result.name:<24}{result.allocations:>10,}  {result.figure:<9}{result.value:>9.2f} {result.unit}{budget}"
        )


if __name__ == "__main__":
    main()
