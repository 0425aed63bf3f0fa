"""From the start of `leasehold-standalone` to the first answered request, with new and with existing state."""

from __future__ import annotations

import tempfile
import time
from typing import Final

from bench.deployment import running
from bench.figures import percentile
from bench.row import Row

TIMES: Final = 5


def run(*, quick: bool = False) -> list[Row]:
    """Measure with the interpreter's caches warm."""
    fresh, again = [], []
    for _ in range(1 if quick else TIMES):
        with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as state:
            fresh.append(_start(state))
            again.append(_start(state))
    return [
        Row("leasehold-standalone, new state, to the first answer, p50", percentile(fresh, 50), "s"),
        Row("leasehold-standalone, second start, to the first answer, p50", percentile(again, 50), "s"),
    ]


def _start(state: str) -> float:
    begun = time.perf_counter()
    with running("leasehold-standalone", environment={"LEASEHOLD_STATE": state}):
        return time.perf_counter() - begun
