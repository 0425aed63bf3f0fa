"""The faults of a soak: in hosts, cloud, our processes and the database. Each is one call; all are undone later."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.faults import Fault
from tests.race.wanted import HOSTS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from leasehold.cloud.sandbox.cloud import SandboxCloud
    from leasehold.cloud.sandbox.faults import Moment
    from tests.race.fleet import Fleet, Member
    from tests.servers import Server

VERBS = ("*", "aggregates.*", "aggregates.add_host", "flavors.*", "providers.*", "networks.*", "servers.*")
PAUSE = 0.8
"""Seconds between two disturbances, so that each one can take effect."""
AWAY = 1.0
"""Seconds for which a killed process or database stays down."""
DOWN_AT_ONCE = 2
"""How many of the five hosts may fail; with fewer left, little could be allocated."""


@dataclass
class Disturber:
    """Disturbs a site in rounds: every kind once per round, in an order that the seed fixes.

    Processes are started from the calling thread, which has to outlive them.
    """

    site: Fleet
    cloud: SandboxCloud
    server: Server | None
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    _down: list[str] = field(default_factory=list)
    _deck: list[str] = field(default_factory=list)

    def disturb(self) -> None:
        """Cause the next disturbance and give it time to take effect."""
        if not self._deck:
            self._deck = [kind for kind in self._kinds if self.server is not None or kind != "restart the database"]
            self.rng.shuffle(self._deck)
        kind = self._deck.pop()
        if self._kinds[kind]():
            self.counts[kind] += 1
        time.sleep(PAUSE)

    @property
    def rounds(self) -> int:
        """The number of rounds in which every kind took effect."""
        wanted = set(self._kinds) - ({"restart the database"} if self.server is None else set())
        return min(self.counts[kind] for kind in wanted)

    def make_good(self) -> None:
        """Undo all lasting disturbances, so that the managers can become idle."""
        self.cloud.faults.clear()
        self.cloud.servers.take_to_delete(0)
        for host in HOSTS:
            self.cloud.hypervisors.recover(host)

    @property
    def _kinds(self) -> dict[str, Callable[[], bool]]:
        return {
            "break a host": self._fail,
            "mend a host": self._recover,
            "slow cloud": lambda: self._fault(latency_ms=self.rng.randint(50, 1500)),
            "error before": lambda: self._fault(error="before"),
            "error after": lambda: self._fault(error="after"),
            "half-done call": lambda: self._fault(error="half"),
            "connection reset": lambda: self._fault(error="reset"),
            "no faults": self._behave,
            "slow deletion": lambda: self._slowly(self.rng.randint(1, 4)),
            "quick deletion": lambda: self._slowly(0),
            "kill an API": lambda: self._kill(self.rng.choice(self.site.apis)),
            "kill a manager": lambda: self._kill(self.rng.choice(self.site.managers)),
            "restart the database": self._restart_database,
        }

    def _fail(self) -> bool:
        up = [host for host in HOSTS if host not in self._down]
        if len(self._down) >= DOWN_AT_ONCE:
            self._recover()
        host = self.rng.choice(up)
        self.cloud.hypervisors.fail(host)
        self._down.append(host)
        return True

    def _recover(self) -> bool:
        if not self._down:
            return False
        self.cloud.hypervisors.recover(self._down.pop(0))
        return True

    def _fault(self, error: Moment = "none", latency_ms: int = 0) -> bool:
        """Make some calls fail: those that match a pattern of verbs, a few times or until the faults are cleared."""
        remaining = self.rng.choice([None, 1, 3, 10])
        self.cloud.faults.set(Fault(self.rng.choice(VERBS), latency_ms, error, remaining=remaining))
        return True

    def _behave(self) -> bool:
        self.cloud.faults.clear()
        return True

    def _slowly(self, seconds: int) -> bool:
        self.cloud.servers.take_to_delete(seconds)
        return True

    @staticmethod
    def _kill(member: Member) -> bool:
        member.kill()
        time.sleep(AWAY)
        member.start()
        return True

    def _restart_database(self) -> bool:
        if self.server is None:
            return False
        self.server.kill()
        time.sleep(AWAY)
        self.server.start()
        return True
