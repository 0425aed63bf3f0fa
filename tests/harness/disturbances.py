"""The faults of a soak: in hosts, cloud, our processes and the database. Each is one call; all are undone later."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.faults import Fault
from tests.harness import mix

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from leasehold.cloud.sandbox.cloud import SandboxCloud
    from leasehold.cloud.sandbox.faults import Moment
    from tests.harness.programs import Fleet, Program
    from tests.servers import Server

VERBS = ("*", "aggregates.*", "aggregates.add_host", "flavors.*", "providers.*", "networks.*", "servers.*")
PAUSE = 0.8
"""Seconds between two disturbances, so that each one can take effect."""
AWAY = 1.0
"""Seconds for which a killed process or database stays down."""
HOSTS = (*mix.HOSTS, *(spec.hypervisor_hostname for spec in mix.SHARED))
DOWN_AT_ONCE = 2
"""How many of these hosts may fail; with fewer left, little could be allocated."""


@dataclass
class Disturber:
    """Disturbs a site in rounds: every kind once per round, in an order that the seed fixes.

    `rounds` counts the rounds in which every kind took effect.
    """

    cloud: SandboxCloud
    server: Server | None
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    _down: list[str] = field(default_factory=list)
    _deck: list[str] = field(default_factory=list)

    def disturb(self, site: Fleet) -> None:
        """Cause the next disturbance and give it time to take effect."""
        kinds = self._kinds(site)
        if not self._deck:
            self._deck = list(kinds)
            self.rng.shuffle(self._deck)
        kind = self._deck.pop()
        # A disturbance without an effect returns False.
        self.counts[kind] += kinds[kind]() is not False
        self.rounds = min(self.counts[each] for each in kinds)
        time.sleep(PAUSE)

    def make_good(self) -> None:
        """Undo all lasting disturbances, so that the managers can become idle."""
        self.cloud.faults.clear()
        self.cloud.servers.take_to("delete", 0)
        for host in HOSTS:
            self.cloud.hypervisors.recover(host)

    def _kinds(self, site: Fleet) -> dict[str, Callable[[], bool | None]]:
        errors: dict[str, Moment] = {
            "error before": "before",
            "error after": "after",
            "half-done call": "half",
            "connection reset": "reset",
        }
        database = {} if self.server is None else {"restart the database": self._restart_database}
        return {
            "break a host": self._fail,
            "mend a host": self._recover,
            "slow cloud": lambda: self._fault(latency_ms=self.rng.randint(50, 1500)),
            **{kind: partial(self._fault, error) for kind, error in errors.items()},
            "no faults": self.cloud.faults.clear,
            "slow deletion": lambda: self.cloud.servers.take_to("delete", self.rng.randint(1, 4)),
            "quick deletion": lambda: self.cloud.servers.take_to("delete", 0),
            "kill an API": lambda: self._kill(self.rng.choice(site.apis)),
            "kill a manager": lambda: self._kill(self.rng.choice(site.managers)),
            **database,
        }

    def _fail(self) -> None:
        up = [host for host in HOSTS if host not in self._down]
        if len(self._down) >= DOWN_AT_ONCE:
            self._recover()
        host = self.rng.choice(up)
        self.cloud.hypervisors.fail(host)
        self._down.append(host)

    def _recover(self) -> bool:
        if not self._down:
            return False
        self.cloud.hypervisors.recover(self._down.pop(0))
        return True

    def _fault(self, error: Moment = "none", latency_ms: int = 0) -> None:
        """Make some calls fail: those that match a pattern of verbs, a few times or until the faults are cleared."""
        remaining = self.rng.choice([None, 1, 3, 10])
        self.cloud.faults.set(Fault(self.rng.choice(VERBS), latency_ms, error, remaining=remaining))

    @staticmethod
    def _kill(member: Program) -> None:
        member.kill()
        time.sleep(AWAY)
        member.start()

    def _restart_database(self) -> None:
        assert self.server is not None
        self.server.kill()
        time.sleep(AWAY)
        self.server.start()
