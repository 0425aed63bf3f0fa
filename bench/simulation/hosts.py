"""What happens to the hosts: they fail and come back, are disabled and enabled, and have maintenance windows."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bench.simulation.people import Held
from bench.simulation.site import ADMIN
from leasehold.model.membership import Membership

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from bench.simulation.site import Site

HOUR: Final = 3600.0


@dataclass
class Hosts:
    """The troubles of a site's hosts from now until `until`; `happened` counts them by name."""

    site: Site
    rng: random.Random
    until: datetime
    ids: Mapping[str, str]
    happened: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        """Note the first trouble of each kind in the agenda; each notes the next one."""
        for name in TROUBLES:
            self._later(name)

    def _later(self, name: str) -> None:
        moment = self.site.now() + timedelta(seconds=round(self.rng.expovariate(1 / TROUBLES[name].every)))
        if moment < self.until:
            self.site.agenda.at(moment, partial(self._happen, name))

    def _happen(self, name: str) -> None:
        self._later(name)
        self.happened[name if TROUBLES[name].begin(self) else f"{name}, refused"] += 1

    def after(self, seconds: float, work: Callable[[], Any]) -> None:
        """Note what happens when a trouble is over."""
        self.site.agenda.at(self.site.now() + timedelta(seconds=round(seconds)), lambda: work() and None)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that happens to hosts `every` so many seconds on average; `begin` says whether it did happen."""

    every: float
    begin: Callable[[Hosts], bool]


def _fail(hosts: Hosts) -> bool:
    """Take a host down, for some minutes or for a day."""
    name, controls = hosts.rng.choice(hosts.site.hosts), hosts.site.world.cloud.hypervisors
    controls.fail(name)
    hosts.after(hosts.rng.lognormvariate(0, 1.5) * 2 * HOUR, partial(controls.recover, name))
    return True


def _disable(hosts: Hosts) -> bool:
    """Let an administrator disable a host, and enable it again."""
    path = f"/os-hosts/{hosts.ids[hosts.rng.choice(hosts.site.hosts)]}"

    def put(*, disabled: bool) -> None:
        body = {"disabled": disabled, "disabled_reason": "a fan is loud" if disabled else ""}
        hosts.site.expect(hosts.site.ask(ADMIN, "PUT", path, body), 200)

    put(disabled=True)
    hosts.after(hosts.rng.uniform(2, 30) * HOUR, partial(put, disabled=False))
    return True


def _maintain(hosts: Hosts) -> bool:
    """Let an operator plan a maintenance window of a rack, a day ahead, and sometimes call it off.

    Nothing is promised on the shared hosts of the rack, so they are left out.
    """
    site, size = hosts.site, max(1, len(hosts.site.hosts) // 24)
    first = hosts.rng.randrange(len(site.hosts) - size + 1)
    listed = site.expect(site.ask(ADMIN, "GET", "/os-hosts"), 200).json["hosts"]
    pooled = {each["id"] for each in listed if each["pool"] == Membership.RESERVATION}
    rack = [hosts.ids[name] for name in site.hosts[first : first + size]]
    if not pooled.intersection(rack):
        return False
    start = site.now() + timedelta(hours=24)
    body = {
        "name": "firmware",
        "start_date": Held.written(start),
        "end_date": Held.written(start + timedelta(hours=hosts.rng.randint(1, 6))),
        "hosts": [ident for ident in rack if ident in pooled],
        "on_conflict": hosts.rng.choice(["refuse", "move", "warn"]),
    }
    answer = site.expect(site.ask(ADMIN, "POST", "/maintenances", body), 201, 409)
    if answer.status_code == 409:
        return False
    if hosts.rng.random() < 0.2:
        path = f"/maintenances/{answer.json['maintenance']['id']}"
        hosts.after(12 * HOUR, lambda: site.expect(site.ask(ADMIN, "DELETE", path), 204))
    return True


TROUBLES: Final[Mapping[str, Trouble]] = {
    "host failed": Trouble(6 * HOUR, _fail),
    "host disabled": Trouble(36 * HOUR, _disable),
    "maintenance window": Trouble(48 * HOUR, _maintain),
}


def troubles_of(site: Site, seed: int, until: datetime) -> Hosts:
    """Return what will happen to the hosts of a site, by the seed."""
    listed = site.expect(site.ask(ADMIN, "GET", "/os-hosts"), 200).json["hosts"]
    ids = {each["hypervisor_hostname"]: each["id"] for each in listed}
    return Hosts(site, random.Random(f"hosts-{seed}"), until, ids)
