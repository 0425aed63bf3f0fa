"""Run the API on a real service: a SQLite database, a planted sandbox cloud, and a clock that the tests set."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api import app
from leasehold.api.router import Router
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cmd.web import ROUTES, make_app
from leasehold.conf.settings import ApiSettings, Settings
from leasehold.db.engine import open_engine
from leasehold.db.store import Database
from leasehold.features.filler.options import FillerSettings
from leasehold.features.price.model import Prices
from leasehold.features.price.options import PriceSettings
from leasehold.features.registry import listeners, owns, sources, ways, words
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.service import Service
from leasehold.resource_types.registry import ResourceTypes, load_types
from tests.factory import hosts, planted_database
from tests.statements import share_statements
from tests.v1.world import MEMBER, World, plant, world
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falcon import testing

PRICED = PriceSettings(Prices("EUR", 2))
SETTINGS = Settings().having(FillerSettings(hosts=10)).having(PRICED)
"""Projects may have fillers, and budgets, although nothing has a price."""
NOW = datetime(2031, 5, 1, 9, 30, 40, tzinfo=UTC)
LEASE: dict[str, Any] = {
    "name": "l",
    "start_date": "2031-05-01 10:00",
    "end_date": "2031-05-01 11:00",
    "reservations": [hosts()],
    "events": [],
}
"""A request for a host for an hour, soon after NOW."""


class Clock:
    """The clock of the service under test; tests set `now`."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(scope="session", autouse=True)
def one_router() -> Iterator[None]:
    """Let all applications have one router, which knows routes alone: to build it takes a quarter of a short test."""
    router = Router(ROUTES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "Router", lambda routes: router if routes is ROUTES else Router(routes))
        yield


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def types() -> ResourceTypes:
    return load_types(Settings().plugins)


@pytest.fixture
def service(tmp_path: Path, types: ResourceTypes, clock: Clock) -> Iterator[Service]:
    with open_service(tmp_path, types, clock) as service:
        yield service


@contextmanager
def open_service(folder: Path, types: ResourceTypes, clock: Clock, region: str = "RegionOne") -> Iterator[Service]:
    """Open a service on a planted sandbox; its database is in the folder."""
    path = shutil.copy(planted_database(), folder)
    engine = open_engine(f"sqlite:///{path}", region=region)
    share_statements(engine)
    # A constant monotonic clock, so that a pause of the machine never makes a decision exceed its time limit.
    cloud = sandbox(engine, clock=clock)
    clocks: Any = {"now": clock, "steady": lambda: 0.0}
    db = Database(engine)
    told: Any = {"words": words(), "sources": sources(), "listeners": listeners(db), "ways": ways(), "owns": owns()}
    yield Service(db, Calendars(), types, cloud, SETTINGS, **clocks, **told)
    engine.dispose()


@pytest.fixture
def settings() -> ApiSettings:
    return ApiSettings(auth_strategy="none", allowed_hosts=("api.example",), delete_wait_seconds=0.0)


@dataclass(frozen=True)
class Client:
    """A caller of the API. Paths are relative to the application; `version` is the microversion to request."""

    web: testing.TestClient
    user: str = "alice"
    project: str = "demo"
    roles: str = "member,reader"
    version: str | None = None

    def ask(
        self, method: str, path: str, body: Any = None, *, content: bytes | None = None, **more: Any
    ) -> testing.Result:
        """Send `body` as JSON, or `content` unchanged."""
        headers = {"X-User-Id": self.user, "X-Project-Id": self.project, "X-Roles": self.roles}
        if self.version is not None:
            headers["OpenStack-API-Version"] = f"reservation {self.version}"
        headers |= more.pop("headers", {})
        if body is not None:
            more["json"] = body
        if content is not None:
            more["body"] = content
            headers = {"Content-Type": "application/json"} | headers
        return self.web.simulate_request(method, path, headers=headers, **more)

    def but(self, **changes: Any) -> Client:
        return replace(self, **changes)


@pytest.fixture
def client(service: Service, settings: ApiSettings) -> Client:
    """Return a client that calls as a member of the project `demo`."""
    return Client(LocalClient(make_app(service, settings)))


@pytest.fixture
def admin(client: Client) -> Client:
    return client.but(user="admin", roles="admin,member,reader")


@pytest.fixture
def host(admin: Client) -> str:
    """Enrol one host and return its id."""
    found = admin.ask("POST", "/v1/os-hosts", {"name": "cmp-01", "rack": "a1"})
    assert found.status_code == 201, found.text
    return str(found.json["host"]["id"])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[World]:
    """Yield a service with three hosts, whose client is a member by default."""
    with world(plant(tmp_path)) as made:
        for name in ("cmp-01", "cmp-02", "cmp-06"):
            made.enrol(name)
        yield World(made.inside, made.web, MEMBER)
