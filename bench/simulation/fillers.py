"""Those who use idle hosts until a lease needs them: projects that ask for fillers again and again.

They boot a server on each host as soon as they have it, and let it run until it is ended. A host is used by a filler
while that server runs, up to the end that its owner was told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY
from sqlalchemy import select

from bench.simulation.site import SLOWEST_DELETION, VERSION_1_3
from leasehold.features.filler import store
from leasehold.features.filler.model import ASKED, FAILED, NOT_GIVEN, FilledHost, Stage
from leasehold.features.filler.options import FillerSettings
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bench.simulation.site import Site
    from leasehold.conf.settings import Settings

OWNERS: Final = ("render", "screening", "builds")
"""The projects; each always wants as many hosts as it may have."""
EACH: Final = 16
EVERY: Final = timedelta(minutes=1)
"""Between two rounds, as for those of machines in `sleeping.py`."""
MOVES_EVERY: Final = timedelta(minutes=15)
"""Between two looks for better places for flexible leases: by default three times as often, which is a third of the
work of a simulated day."""
ASKS_EVERY: Final = timedelta(minutes=5)
AT_LEAST: Final = timedelta(minutes=30)
"""It is not worth it for less."""
UNTOLD: Final = frozenset({FAILED, NOT_GIVEN, ASKED})
"""Why a host leaves a filler without a notice."""
DELAYED: Final = "leasehold_filler_late_starts_total"


def filling(settings: Settings, spares: int) -> Settings:
    """Return settings in which projects may have fillers, but for so many idle hosts.

    Servers are gone in time if they take the longest that they do, and a round sees it only after that.
    """
    fillers = FillerSettings(hosts=EACH, spares=spares, evict=SLOWEST_DELETION + 2 * EVERY, every=EVERY)
    flexible = FlexibleSettings(every=MOVES_EVERY)
    return replace(settings, features={**settings.features, FillerSettings: fillers, FlexibleSettings: flexible})


def _delayed() -> float:
    """Return how many leases of this process a filler has delayed."""
    return REGISTRY.get_sample_value(DELAYED) or 0.0


@dataclass
class Fillers:
    """The owners of fillers of a site, who ask until a moment.

    `answers` counts by the status of the answer, `booted` by that of the server; `hosts` is what the fillers had, and
    `delayed` how many leases started late because of them, when the simulation has ended.
    """

    site: Site
    until: datetime
    answers: Counter[int] = field(default_factory=Counter)
    booted: Counter[str] = field(default_factory=Counter)
    hosts: Sequence[FilledHost] = ()
    delayed: int = 0
    _has: set[str] = field(default_factory=set)
    _delayed_before: float = field(default_factory=_delayed)

    @property
    def settings(self) -> FillerSettings:
        """Return how fillers are configured."""
        return self.site.world.service.settings.of(FillerSettings)

    def begin(self) -> None:
        """Let each owner ask from now on, one after the other, if somebody may have a filler."""
        for number, owner in enumerate(OWNERS if self.settings.hosts else ()):
            self.site.agenda.at(self.site.now() + (number + 1) * EVERY, partial(self._ask, owner))

    def _ask(self, owner: str) -> None:
        if self.site.now() + ASKS_EVERY < self.until:
            self.site.agenda.at(self.site.now() + ASKS_EVERY, partial(self._ask, owner))
        reservation = {"resource_type": HOST, "min": 1, "max": EACH, "hypervisor_properties": ""}
        body = {
            "name": owner,
            "reservation": {**reservation, "resource_properties": ""},
            "at_least": int(AT_LEAST.total_seconds()),
        }
        answer = self.site.ask(_user(owner), "POST", "/fillers", body, version=VERSION_1_3)
        self.site.expect(answer, 201, 403, 409)
        self.answers[answer.status_code] += 1
        if answer.status_code == 201:
            self._look_later(owner, answer.json["filler"]["id"])

    def _look_later(self, owner: str, ident: str) -> None:
        self.site.agenda.at(self.site.now() + EVERY, partial(self._use, owner, ident))

    def _use(self, owner: str, ident: str) -> None:
        """Boot a server on each host that has come, and look again for those that are still coming."""
        answer = self.site.ask(_user(owner), "GET", f"/fillers/{ident}", version=VERSION_1_3)
        hosts = self.site.expect(answer, 200).json["filler"]["hosts"]
        for each in hosts:
            if each["state"] == Stage.ACTIVE and each["id"] not in self._has:
                self._has.add(each["id"])
                server = self.site.world.cloud.servers.boot(owner, owner, "m1.small", [each["id"]])
                self.booted[server.status] += 1
        if any(each["state"] == Stage.COMING for each in hosts):
            self._look_later(owner, ident)

    def end(self) -> None:
        """Note what became of all, and let the owners end what they still have."""
        with self.site.world.service.db.reading() as connection:
            self.hosts = [FilledHost(**row) for row in connection.execute(select(store.filled_hosts)).mappings()]
        self.delayed = int(_delayed() - self._delayed_before)
        for owner in OWNERS:
            path = "/fillers?state=active"
            mine = self.site.ask(_user(owner), "GET", path, version=VERSION_1_3).json["fillers"]
            for each in mine:
                answer = self.site.ask(_user(owner), "DELETE", f"/fillers/{each['id']}", version=VERSION_1_3)
                self.site.expect(answer, 202)

    @property
    def lives(self) -> Sequence[timedelta]:
        """Return how long those had their hosts that have lost them."""
        return [each.leaves_at - each.arrived_at for each in self.hosts if each.leaves_at and each.arrived_at]

    @property
    def reasons(self) -> Counter[str]:
        """Return why hosts have left."""
        return Counter(each.reason for each in self.hosts if each.reason)

    @property
    def overdue(self) -> int:
        """Return how many hosts were given up because the servers of a filler did not end."""
        return sum(each.overdue_at is not None for each in self.hosts)

    @property
    def unnoticed(self) -> int:
        """Return how many hosts left with less than the notice, though it was known that they are needed."""
        noticed = (
            each.leaves_at - each.told_at
            for each in self.hosts
            if each.leaves_at and each.told_at and each.reason not in UNTOLD
        )
        return sum(each < self.settings.notice for each in noticed)


def _user(owner: str) -> tuple[str, str, str]:
    return f"user-{owner}", owner, "member,reader"
