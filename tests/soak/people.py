"""The users of the site during a soak: clients with leases, their servers in the cloud, and an admin."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import requests
from sqlalchemy.exc import DBAPIError

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.seed import HostSpec
from tests.harness.visitor import ANSWERED_WITHIN, NO_ANSWER, Visitor
from tests.race.storm import PAUSE, ask_once

if TYPE_CHECKING:
    from leasehold.cloud.sandbox.cloud import SandboxCloud
    from tests.race.fleet import Fleet
    from tests.race.storm import Crowd
    from tests.race.wanted import Known

SPARE = tuple(HostSpec(100 + n, f"spare-{n}", f"spare-{n}", 1, 1024, 20) for n in range(3))
"""Hosts that the admin enrols and removes again; few leases ask for hosts that small."""
THINKING = 0.05
PROJECT = "demo"


@dataclass
class People:
    """All users together, until they are told to stop.

    `done` counts the actions that are not lease requests. `running` maps the ids of the servers that were booted and
    not deleted by their user to their reservations.
    """

    site: Fleet
    cloud: SandboxCloud
    crowd: Crowd
    seed: int
    done: Counter[str] = field(default_factory=Counter)
    running: dict[str, str] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self, number: int) -> None:
        """Request, change and delete leases, and boot servers in them."""
        rng = random.Random(self.seed * 1000 + number)  # noqa: S311 - a workload wants repeatable numbers
        with requests.Session() as session:
            while not self.stop.is_set():
                if rng.random() < 0.15:
                    self._boot(rng)
                    continue
                answer = ask_once(Visitor(number, session, self.site.url(number)), self.crowd, rng)
                self.crowd.note(answer)
                time.sleep(PAUSE if answer.status in (NO_ANSWER, 503) else THINKING)

    def _boot(self, rng: random.Random) -> None:
        """Boot a server in some lease, named after its reservation."""
        known = self.crowd.pick(rng)
        if known is None:
            return
        part = rng.choice(known.parts)
        with suppress(CloudError, DBAPIError):
            server = self.cloud.servers.boot(part["id"], PROJECT, _flavor(known, part["id"]), _hints(known, part["id"]))
            self._count("server booted" if server.status == "ACTIVE" else "server found no host")
            if rng.random() < 0.2:
                self.cloud.servers.delete(server.id)
                self._count("server deleted by its user")
            elif server.status == "ACTIVE":
                with self._lock:
                    self.running[server.id] = part["id"]

    def admin(self, number: int) -> None:
        """Enrol spare hosts and take them out of service; count the API's answers."""
        rng = random.Random(self.seed * 1000 + number)  # noqa: S311 - as above
        with requests.Session() as session:
            while not self.stop.wait(4 * THINKING):
                url = self.site.url(number)
                with suppress(requests.RequestException):
                    if rng.random() < 0.5:
                        body = {"name": rng.choice(SPARE).hypervisor_hostname}
                        status = session.post(f"{url}/os-hosts", json=body, timeout=ANSWERED_WITHIN).status_code
                        self._count(f"host enrolled: {status}")
                    else:
                        self._remove(session, url, rng)

    def _remove(self, session: requests.Session, url: str, rng: random.Random) -> None:
        answer = session.get(f"{url}/os-hosts", timeout=ANSWERED_WITHIN)
        hosts, spare = answer.json()["hosts"] if answer.ok else [], {spec.hypervisor_hostname for spec in SPARE}
        found = [host["id"] for host in hosts if host["hypervisor_hostname"] in spare]
        if found:
            status = session.delete(f"{url}/os-hosts/{rng.choice(found)}", timeout=ANSWERED_WITHIN).status_code
            self._count(f"host removed: {status}")

    def _count(self, what: str) -> None:
        with self._lock:
            self.done[what] += 1


def _part(known: Known, part_id: str) -> str:
    return next(str(part["resource_type"]) for part in known.parts if part["id"] == part_id)


def _flavor(known: Known, part_id: str) -> str:
    """Return the flavor to boot with: the reservation's own if it has one."""
    return part_id if _part(known, part_id) in ("virtual:instance", "flavor:instance") else "m1.small"


def _hints(known: Known, part_id: str) -> list[str]:
    return [part_id] if _part(known, part_id) == "physical:host" else []
