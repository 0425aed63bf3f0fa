"""The service under simulation: our API, manager functions and sandbox, on one database, with a clock that is set.

The agenda is the clock's other half: what is to happen at which moment. Nothing waits and no thread runs.
"""

from __future__ import annotations

import heapq
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.deployment import host_specs
from leasehold.cloud.sandbox import seed as planting
from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings, LeaseSettings, ManagerSettings, Settings
from leasehold.features.preemption.options import PreemptionSettings
from leasehold.model.membership import Membership
from leasehold.model.placing.pool_size import Size
from leasehold.model.resource import HOST
from tests.factory import make_service
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from falcon import testing

    from tests.factory import World

VERSION: Final = "1.2"
VERSION_1_3: Final = "1.3"
"""From this one on there are fillers, flexible leases, and starts as soon as a host is ready."""
CLEANING: Final = timedelta(minutes=10)
SLOWEST_DELETION: Final = timedelta(minutes=7)
"""How long servers take to be deleted at most. With the pauses of an end that waits for them, up to a minute each, that
is less than the cleaning time, as operators have to choose it (docs/operators)."""
LEAD: Final = SLOWEST_DELETION + timedelta(minutes=5)
"""So long before a start its work begins, which ends preemptible servers."""
GRACE: Final = timedelta(minutes=15)
SETTINGS: Final = Settings(
    features={PreemptionSettings: PreemptionSettings(GRACE)},
    leases=LeaseSettings(cleaning_time=CLEANING, lead_time_by_type={HOST: LEAD}, rebinding_seconds=0.02),
    manager=ManagerSettings(
        health_seconds=300.0,
        failure_grace_seconds=120.0,
        warn_poll_seconds=300.0,
        reread_seconds=86_400.0,
        pool_seconds=900.0,
        pool_sizes={HOST: Size(floor=4, ceiling=None, lead=timedelta(hours=1))},
    ),
)
"""Those of an operator who has set the cleaning time, and lets hosts be drawn for leases that wait.

The periodic rounds are rarer than by default: they are most of the work of a simulated quiet night. Moves of other
leases are looked for in a fifth of the default time: for leases that wait, that was four fifths of a busy day's work.
"""
ADMIN: Final = ("admin", "operators", "admin,member,reader")


STEP: Final = 0.0003
"""Seconds that a step of a decision is said to take: measured, 0.0002 in the middle and 0.0004 on average."""


@dataclass
class Steps:
    """A clock for limits of time that goes on with each look at it: in each run a search ends at the same step."""

    seconds: float = 0.0

    def __call__(self) -> float:
        """Return the seconds, a step later."""
        self.seconds += STEP
        return self.seconds


class UnexpectedAnswerError(AssertionError):
    """The API gave an answer that no request of the simulation should get."""


@dataclass
class Agenda:
    """What is to happen, by the moment; what was noted first comes first."""

    _heap: list[tuple[datetime, int, Callable[[], None]]] = field(default_factory=list)
    _number: Iterator[int] = field(default_factory=count)

    def at(self, moment: datetime, work: Callable[[], None]) -> None:
        """Note that `work` is to be done at a moment."""
        heapq.heappush(self._heap, (moment, next(self._number), work))

    def next(self) -> datetime | None:
        """Return the moment of the next entry."""
        return self._heap[0][0] if self._heap else None

    def due(self, now: datetime) -> Iterator[Callable[[], None]]:
        """Take out what is due, one after the other, with what is added meanwhile."""
        while self._heap and self._heap[0][0] <= now:
            yield heapq.heappop(self._heap)[2]


@dataclass(frozen=True)
class Site:
    """The world of the tests, an API on it, and the agenda. Of the hosts, the last `shared` are shared at first."""

    world: World
    web: LocalClient
    hosts: tuple[str, ...]
    shared: int = 0
    agenda: Agenda = field(default_factory=Agenda)

    def now(self) -> datetime:
        """Return the simulated time."""
        return self.world.now()

    def ask(
        self, who: tuple[str, str, str], method: str, path: str, body: Any = None, *, version: str = VERSION
    ) -> testing.Result:
        """Send a request as this user, project and roles, to a path below /v1."""
        user, project, roles = who
        headers = {"OpenStack-API-Version": f"reservation {version}", "X-User-Id": user}
        headers |= {"X-Project-Id": project, "X-Roles": roles}
        more = {} if body is None else {"json": body}
        return self.web.simulate_request(method, f"/v1{path}", headers=headers, **more)

    def expect(self, answer: testing.Result, *statuses: int) -> testing.Result:
        """Return an answer that has one of these statuses; raises UnexpectedAnswerError for any other."""
        if answer.status_code not in statuses:
            message = f"{self.now():%Y-%m-%d %H:%M:%S}: {answer.status_code} instead of {statuses}: {answer.text}"
            raise UnexpectedAnswerError(message)
        return answer


@contextmanager
def open_site(
    hosts: int, database_url: str | None = None, settings: Settings = SETTINGS, shared: int = 0
) -> Iterator[Site]:
    """Yield a site with this many equal hosts, enrolled, and further `shared` ones.

    Without the URL of an empty database it is on a new SQLite file.
    """
    with (
        tempfile.TemporaryDirectory(prefix="leasehold-simulation-") as folder,
        make_service(database_url or Path(folder), settings=settings) as plain,
    ):
        world = replace(plain, service=replace(plain.service, steady=Steps())).with_preemptibles()
        specs = host_specs(hosts + shared)
        planting.add_hosts(world.engine, specs)
        api = ApiSettings(auth_strategy="none", delete_wait_seconds=0.0)
        names = tuple(each.hypervisor_hostname for each in specs)
        site = Site(world, LocalClient(make_app(world.service, api)), names, shared)
        for number, name in enumerate(names):
            pool = Membership.RESERVATION if number < hosts else Membership.SHARED
            site.expect(site.ask(ADMIN, "POST", "/os-hosts", {"name": name, "pool": pool}), 201)
        yield site
