"""The API over a real service: books in a SQLite file, a planted sandbox cloud, a clock that tests set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from falcon import testing

from leasehold.api.app import make_app
from leasehold.books.engine import open_engine, writing
from leasehold.books.pool import create_pools
from leasehold.books.store import Books
from leasehold.books.tables import metadata
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.conf.settings import ApiSettings, Settings
from leasehold.leasing.calendars import Calendars
from leasehold.leasing.service import Service
from leasehold.resource_types.flavor import FlavorReservations
from leasehold.resource_types.floatingip import FloatingIpReservations
from leasehold.resource_types.host import HostReservations
from leasehold.resource_types.instance import InstanceReservations
from leasehold.resource_types.registry import ResourceTypes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2031, 5, 1, 9, 30, 40, tzinfo=UTC)


class Clock:
    """The time as the service under test reads it."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    engine = open_engine(f"sqlite:///{tmp_path}/leasehold.db")
    settings = Settings()
    kinds: tuple[Any, ...] = (
        HostReservations(),
        InstanceReservations(),
        FlavorReservations(),
        FloatingIpReservations(),
    )
    types = ResourceTypes({kind.name: kind for kind in kinds})
    metadata.create_all(engine)
    with writing(engine) as connection:
        create_pools(connection, types.pools())
    seed.plant(engine)
    yield Service(Books(engine), Calendars(), types, sandbox(engine, clock=clock), settings, now=clock)
    engine.dispose()


@pytest.fixture
def settings() -> ApiSettings:
    return ApiSettings(auth_strategy="none", delete_wait_seconds=0.0)


@dataclass(frozen=True)
class Client:
    """Somebody who calls the API. Paths are below the application; `version` is a microversion to ask for."""

    web: testing.TestClient
    user: str = "alice"
    project: str = "demo"
    roles: str = "member,reader"
    version: str | None = None

    def ask(
        self, method: str, path: str, body: Any = None, *, content: bytes | None = None, **more: Any
    ) -> testing.Result:
        """Send `body` as JSON, or `content` as it is."""
        headers = {"X-User-Id": self.user, "X-Project-Id": self.project, "X-Roles": self.roles}
        if self.version is not None:
            headers["OpenStack-API-Version"] = f"reservation {self.version}"
        headers |= more.pop("headers", {})
        if body is not None:
            more["json"] = body
        if content is not None:
            more["body"] = content
        return self.web.simulate_request(method, path, headers=headers, **more)

    def but(self, **changes: Any) -> Client:
        return replace(self, **changes)


@pytest.fixture
def client(service: Service, settings: ApiSettings) -> Client:
    """Return a member of the project `demo`."""
    return Client(testing.TestClient(make_app(service, settings)))


@pytest.fixture
def admin(client: Client) -> Client:
    return client.but(user="admin", roles="admin,member,reader")


@pytest.fixture
def host(admin: Client) -> str:
    """Return the id of the one host that is enrolled."""
    found = admin.ask("POST", "/v1/os-hosts", {"name": "cmp-01", "rack": "a1"})
    assert found.status_code == 201, found.text
    return str(found.json["host"]["id"])
