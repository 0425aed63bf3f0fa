"""The whole service as clients see it: HTTP over a planted sandbox, with a clock and a manager that tests advance."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leasehold.cloud.sandbox import seed
from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings
from leasehold.features.registry import all_tables
from tests.factory import AT_ONCE, Clock, open_service, planted_database, run_for
from tests.factory import World as Inside
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falcon import testing

    from leasehold.cloud.ports import Server
    from leasehold.cloud.sandbox.cloud import SandboxCloud
    from leasehold.conf.settings import Settings
    from leasehold.leasing.service import Service

NOW = datetime(2031, 5, 1, 9, 30, 40, tzinfo=UTC)
V1 = "%Y-%m-%d %H:%M"
WIRE = "%Y-%m-%dT%H:%M:%S.%f"
ADMIN = {"X-User-Id": "admin", "X-Project-Id": "demo", "X-Roles": "admin,member,reader"}
MEMBER = {"X-User-Id": "alice", "X-Project-Id": "demo", "X-Roles": "member,reader"}
HOST = {"resource_type": "physical:host", "min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}
INSTANCE = {
    "resource_type": "virtual:instance",
    "vcpus": 1,
    "memory_mb": 1024,
    "disk_gb": 10,
    "amount": 1,
    "affinity": False,
    "resource_properties": "",
}


@dataclass(frozen=True)
class World:
    """A cloud, its reservation service, and a client of the API, by default an administrator of `demo`."""

    inside: Inside
    web: testing.TestClient
    headers: Mapping[str, str] = field(default_factory=lambda: ADMIN)

    @property
    def service(self) -> Service:
        return self.inside.service

    @property
    def cloud(self) -> SandboxCloud:
        return self.inside.cloud

    @property
    def now(self) -> datetime:
        return self.inside.now()

    def set_second(self, second: int) -> None:
        """Advance the clock to this second of the next minute."""
        self.inside.clock.set(self.now.replace(second=second) + timedelta(minutes=1))

    def date(self, **after: float) -> str:
        """Return the current time plus `after` in v1's date format; the seconds are cut off."""
        return (self.now + timedelta(**after)).strftime(V1)

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> testing.Result:
        """Send a request to /v1`path`, as the clients do: JSON in, JSON out."""
        headers = {**self.headers, "Accept": "application/json", **more.pop("headers", {})}
        if body is not None:
            more["json"] = body
        return self.web.simulate_request(method, f"/v1{path}", headers=headers, **more)

    def get(self, path: str, **more: Any) -> Any:
        """Return the decoded answer of a GET that must succeed."""
        answer = self.ask("GET", path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json

    def lease(self, *reservations: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """Create a lease and return it; it lasts an hour from now unless `changes` differ."""
        body = {
            "name": "lease",
            "start_date": "now",
            "end_date": self.date(hours=1),
            "before_end_date": None,
            "reservations": list(reservations),
            "events": [],
            **changes,
        }
        answer = self.ask("POST", "/leases", body)
        assert answer.status_code == 201, answer.text
        lease: dict[str, Any] = answer.json["lease"]
        return lease

    def show(self, lease: Mapping[str, Any]) -> dict[str, Any]:
        """Return the current state of the lease."""
        found: dict[str, Any] = self.get(f"/leases/{lease['id']}")["lease"]
        return found

    def enrol(self, name: str, **properties: str) -> dict[str, Any]:
        """Enrol a host and return it."""
        answer = self.ask("POST", "/os-hosts", {"name": name, **properties})
        assert answer.status_code == 201, answer.text
        host: dict[str, Any] = answer.json["host"]
        return host

    def enrol_all(self) -> Sequence[dict[str, Any]]:
        """Enrol every host of the cloud, so that ordinary servers cannot be scheduled."""
        return [self.enrol(name, **properties) for name, properties in seed.SUGGESTED_HOSTS]

    def enrol_addresses(self, count: int) -> None:
        """Enrol the first addresses that the sandbox suggests."""
        for address in seed.SUGGESTED_FLOATING_IPS[:count]:
            sent = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": address}
            answer = self.ask("POST", "/floatingips", sent)
            assert answer.status_code == 201, answer.text

    def wait(self, **duration: float) -> None:
        """Advance the clock, with a manager that runs every task at the second it becomes due."""
        run_for(self.inside, **duration)

    def boot(self, flavor: str, *hints: str, project: str = "demo") -> Server:
        """Boot a server as a user of the project."""
        return self.cloud.servers.boot("server", project, flavor, hints)

    def hosts_of(self, aggregate: str) -> frozenset[str]:
        """Return the service hosts in an aggregate; none if it does not exist."""
        found = self.cloud.aggregates.get(aggregate)
        return frozenset() if found is None else found.hosts

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return every row of every table of the database; a refused request must not change any."""
        with self.service.db.reading() as connection:
            return {
                name: sorted((tuple(row) for row in connection.execute(table.select())), key=repr)
                for name, table in all_tables().tables.items()
            }


def event(lease: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the lease's event of this type; a lease has one event per type of the service."""
    (found,) = [each for each in lease["events"] if each["event_type"] == kind]
    return dict(found)


def moment(text: str) -> datetime:
    """Return the time of one of the service's dates, parsed as clients parse it."""
    return datetime.strptime(text, WIRE).replace(tzinfo=UTC)


def plant(folder: Path) -> Path:
    """Return a new SQLite file in this folder with the tables and the sandbox; tests may copy the file."""
    return Path(shutil.copy(planted_database(), folder / "leasehold.db"))


@contextmanager
def world(path: Path, *, now: datetime = NOW, settings: Settings = AT_ONCE) -> Iterator[World]:
    """Yield a world whose leases and cloud are in a planted SQLite file."""
    with world_at(f"sqlite:///{path}", now=now, settings=settings) as made:
        yield made


@contextmanager
def world_at(url: str, *, now: datetime = NOW, settings: Settings = AT_ONCE) -> Iterator[World]:
    """Yield a world whose leases and cloud are in a planted database of any kind."""
    inside = open_service(url, clock=Clock(now), settings=settings)
    app = make_app(inside.service, ApiSettings(auth_strategy="none", delete_wait_seconds=0.0))
    yield World(inside, LocalClient(app))
    inside.engine.dispose()
