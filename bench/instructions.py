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
from concurrent.futures import ThreadPoolExecutor
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
NOTHING: Final = "nothing"
"""A baseline that is subtracted from the actions: the cost of taking a snapshot and of switching the counter."""
WORK: Final = {NOTHING: lambda _snapshot, _requests: None, **ACTIONS}
TOTAL: Final = re.compile(r"^totals: (\d+)$", re.MULTILINE)


def run(*, quick: bool = False) -> list[Row]:
    """Count for 20,000 and for 200,000 allocations; quick: for 20,000 alone."""
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
    """Return millions of instructions by action.

    Each action runs in a separate process: with several dumps of one process, callgrind gets some totals wrong.
    """
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        counts = dict(zip(WORK, threads.map(lambda action: _count(allocations, action), WORK), strict=True))
    return {action: (counts[action] - counts[NOTHING]) / TIMES / 1e6 for action in ACTIONS}


def _count(allocations: int, action: str) -> int:
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        command = [
            *("valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"),
            *(sys.executable, "-c", f"import bench.instructions as it; it.work({allocations}, {action!r})"),
        ]
        # The work of sets and dicts depends on hashes, so make these the same in every run.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        subprocess.run(command, check=True, cwd=Path(__file__).parent.parent, env=environment, capture_output=True)
        found = TOTAL.search((Path(folder) / "out").read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"callgrind has no total of {action}, {allocations:,} allocations")
    return int(found[1])


def work(allocations: int, name: str) -> None:
    """Run an action under callgrind, which counts it, after one uncounted run."""
    action = WORK[name]
    loaded = calendar.loaded(allocations)
    requests = calendar.Requests(allocations)
    action(loaded.snapshot(from_seconds(calendar.NOW)), requests)
    _control("--instr=on")
    for second in range(TIMES):
        action(loaded.snapshot(from_seconds(calendar.NOW + second)), requests)
    _control("--instr=off")


def _control(order: str) -> None:
    """Send a command to the callgrind that runs this process."""
    subprocess.run(["callgrind_control", order, str(os.getpid())], check=True, capture_output=True)  # noqa: S607 - in PATH
