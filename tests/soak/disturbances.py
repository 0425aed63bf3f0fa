"""What goes wrong during a soak: hosts, cloud, our processes, the database. Each is one call, and all are undone."""

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
"""Seconds between two disturbances, for something to happen under each."""
AWAY = 1.0
"""Seconds for which a killed process or database stays away."""
DOWN_AT_ONCE = 2
"""Of the five hosts: with fewer left there would be little to promise."""


@dataclass
class Disturber:
    """Disturbs a site in an order that its seed fixes: every kind once, in another order each time round.

    Processes are started from the thread that uses this, which has to outlive them.
    """

    site: Fleet
    cloud: SandboxCloud
    server: Server | None
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    _down: list[str] = field(default_factory=list)
    _deck: list[str] = field(default_factory=list)

    def disturb(self) -> None:
        """Do the next thing, and leave it some time to matter."""
        if not self._deck:
            self._deck = [kind for kind in self._kinds if self.server is not None or kind != "restart the database"]
            self.rng.shuffle(self._deck)
        kind = self._deck.pop()
        if self._kinds[kind]():
            self.counts[kind] += 1
        time.sleep(PAUSE)

    @property
    def rounds(self) -> int:
        """How often every kind has had its effect."""
        wanted = set(self._kinds) - ({"restart the database"} if self.server is None else set())
        return min(self.counts[kind] for kind in wanted)

    def make_good(self) -> None:
        """Undo all that lasts, so that everything can come to rest."""
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
        """Let some calls go wrong: a pattern of verbs, for a few calls or until the next quiet time."""
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
