"""A cloud that fails at random: calls may be slow, fail, be refused, half-done or lost, as a seed decides."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.faults import ERRORS, Fault, Faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

READS = frozenset(
    {"get", "list", "list_floating_ips", "on_host", "on_hosts", "with_flavor", "names", "classes", "inventories"}
)

SHARE_REFUSED = 0.5
"""The share of refusals among the calls that fail without an effect."""


class Weather(Faults):
    """Faults that hit calls at a rate from 0 to 1; a slow call lets the given time pass."""

    def __init__(self, engine: Engine, seed: int, sleep: Callable[[float], None]) -> None:
        """Start without faults."""
        super().__init__(engine, sleep=sleep)
        self._dice = random.Random(seed)  # noqa: S311  repeatable, not secret
        self.rate = 0.0
        self.struck = dict.fromkeys(ERRORS, 0)

    def take(self, verb: str) -> Fault | None:
        """Return the fault of this call, or None for a call that succeeds."""
        if self._dice.random() >= self.rate:
            return None
        error = self._dice.choice(ERRORS)
        if error == "half" and verb.partition(".")[2] in READS:
            error = "before"
        self.struck[error] += 1
        refused = error == "before" and self._dice.random() < SHARE_REFUSED
        return Fault(verb, latency_ms=self._dice.choice((0, 0, 500, 5000)), error=error, permanent=refused)
