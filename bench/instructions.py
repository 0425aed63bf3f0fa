"""How many instructions a processor executes for one decision: a figure that other work on the machine does not change.

Counted by valgrind's callgrind, where it is installed; without it there are no such rows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench import calendar
from bench.row import Row
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.calendar import Requests
    from leasehold.calendar.snapshot import Snapshot

TIMES: Final = 20
SIZES: Final = (20_000, 200_000)
ACTIONS: Final[dict[str, Callable[[Snapshot, Requests], None]]] = {
    "decision, hosts": calendar.decide_hosts,
    "decision, instances": calendar.decide_instances,
    "earliest, hosts": calendar.find_hosts,
    "earliest, instances": calendar.find_instances,
}
TRIES: Final = 3
NONSENSE: Final = 1e6
"""In millions: a total that fell below zero, as callgrind's sometimes do, is written as one of many digits."""
SINCE_THE_LAST: Final = re.compile(r"^summary: (\d+)$", re.MULTILINE)


def run(*, quick: bool = False) -> list[Row]:
    """Count for 200,000 allocations beside a tenth of them; quick: the tenth alone."""
    if shutil.which("valgrind") is None:
        print("Instructions are not counted: that needs valgrind.")
        return []
    few = _counted(SIZES[0])
    rows = [Row(_name(action, SIZES[0]), count, "million") for action, count in few.items()]
    if not quick:
        many = _counted(SIZES[1])
        rows += [
            Row(_name(action, SIZES[1]), count, "million", None, few[action], "a tenth's")
            for action, count in many.items()
        ]
    return rows


def _name(action: str, allocations: int) -> str:
    return f"instructions of one call: {action}, {allocations:,} allocations, mean of {TIMES}"


def _counted(allocations: int) -> dict[str, float]:
    """Return millions of instructions by action; counts again where callgrind has lost its thread."""
    for _ in range(TRIES):
        counts = _count(allocations)
        if all(0 < count < NONSENSE for count in counts.values()):
            return counts
    raise ValueError(f"callgrind does not count what {allocations:,} allocations take")


def _count(allocations: int) -> dict[str, float]:
    """Return millions of instructions by action, counted in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        command = [
            *("valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"),
            *(sys.executable, "-c", f"import bench.instructions as it; it.work({allocations})"),
        ]
        # What sets and dicts do depends on their hashes, so these are the same in every run.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        subprocess.run(command, check=True, cwd=Path(__file__).parent.parent, env=environment, capture_output=True)
        totals = [_since_the_last(Path(folder) / f"out.{number}") for number in range(1, len(ACTIONS) + 2)]
    nothing, *others = totals
    return {action: (total - nothing) / TIMES / 1e6 for action, total in zip(ACTIONS, others, strict=True)}


def _since_the_last(dump: Path) -> int:
    found = SINCE_THE_LAST.search(dump.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{dump.name} of callgrind has no total")
    return int(found[1])


def work(allocations: int) -> None:
    """Decide under callgrind: first nothing, which is what the switching costs, then each action, one dump for each."""
    loaded = calendar.loaded(allocations)
    requests = calendar.Requests(allocations)
    for action in ACTIONS.values():
        action(loaded.snapshot(from_seconds(calendar.NOW)), requests)
    _control("--instr=on")
    _control("--dump")
    _control("--instr=off")
    for action in ACTIONS.values():
        requests = calendar.Requests(allocations)
        _control("--instr=on")
        for second in range(TIMES):
            action(loaded.snapshot(from_seconds(calendar.NOW + second)), requests)
        _control("--dump")
        _control("--instr=off")


def _control(order: str) -> None:
    """Give callgrind, under which this process runs, an order."""
    subprocess.run(["callgrind_control", order, str(os.getpid())], check=True, capture_output=True)  # noqa: S607 - in PATH
