"""Provide a service with data of every kind, and check that bad input changes none of it."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox import seed, tables
from tests.v1.world import HOST, INSTANCE, MEMBER, NOW, World, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falcon import testing

JSON = {"Content-Type": "application/json"}
LATER = NOW + timedelta(minutes=2)


@dataclass
class Target:
    """The service under test, the ids for its paths, and a snapshot of all its rows."""

    world: World
    places: dict[str, str]
    before: dict[str, list[Any]]

    def path(self, template: str) -> str:
        """Fill in ids: `/leases/{lease}`."""
        return template.format(**self.places)

    def ask(self, method: str, template: str, body: Any = None, **more: Any) -> testing.Result:
        """Send a request as an administrator."""
        return self.world.ask(method, self.path(template), body, **more)

    def send(self, method: str, template: str, content: bytes, **more: Any) -> testing.Result:
        """Send these bytes as the body."""
        headers = {**self.world.headers, **JSON, **more.pop("headers", {})}
        path = f"/v1{self.path(template)}"
        return self.world.web.simulate_request(method, path, headers=headers, body=content, **more)

    def refuses(self, answer: testing.Result, *statuses: int, field: str | None = None) -> None:
        """Check the answer to bad input: a 4xx in JSON with a message, a code, and the field if one is expected."""
        assert 400 <= answer.status_code < 500, answer.text
        assert not statuses or answer.status_code in statuses, answer.text
        assert answer.headers["content-type"] == "application/json"
        message = answer.json["error_message"]
        assert isinstance(message, str)
        assert message
        assert len(message) < 2000
        assert answer.json["code"].startswith("leasehold.")
        if field is not None:
            assert answer.json.get("field") == field, answer.text

    def unchanged(self) -> None:
        """Check that no row of the database or of the sandbox cloud has changed, and that the service answers."""
        before, self.before = self.before, picture(self.world)
        assert self.before == before
        assert self.world.ask("GET", "/leases").status_code == 200


def picture(of: World) -> dict[str, list[Any]]:
    """Return every row of the database and of the sandbox cloud."""
    rows: dict[str, list[Any]] = dict(of.dump())
    with of.service.db.reading() as connection:
        for name, table in tables.metadata.tables.items():
            rows[name] = sorted((tuple(row) for row in connection.execute(table.select())), key=repr)
    return rows


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return a database to copy, and the ids of its rows.

    It holds hosts (all enrolled but gpu-03), addresses, a lease for tomorrow with a reservation of every type, an
    active lease, and a lease of another project.
    """
    path = tmp_path_factory.mktemp("target") / "leasehold.db"
    plant(path)
    with world(path) as new:
        for name, properties in seed.SUGGESTED_HOSTS[:-1]:
            new.enrol(name, **properties)
        for address in seed.SUGGESTED_FLOATING_IPS[:3]:
            sent = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": address}
            assert new.ask("POST", "/floatingips", sent).status_code == 201
        flavor = {"resource_type": "flavor:instance", "flavor_id": "m1.small", "amount": 1, "affinity": None}
        floating = {"resource_type": "virtual:floatingip", "network_id": seed.NETWORK_ID, "amount": 1}
        active = new.lease(HOST, end_date=new.date(days=1))
        lease = new.lease(HOST, INSTANCE, flavor, floating, start_date=new.date(days=1), end_date=new.date(days=2))
        body = {"name": "theirs", "start_date": "now", "end_date": new.date(days=1)}
        theirs = new.ask("POST", "/leases", body, headers={**MEMBER, "X-Project-Id": "alt"}).json["lease"]
        new.wait(minutes=2)
        parts = [part["id"] for part in lease["reservations"]]
        places = {"lease": lease["id"], "active": active["id"], "theirs": theirs["id"], "host": "1"}
        places["address"] = new.get("/floatingips")["floatingips"][2]["id"]
        places |= dict(zip(("hosts", "instances", "flavors", "addresses"), parts, strict=True))
    return path, places


@pytest.fixture(scope="session")
def shared(prepared: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """Yield a service that tests share; none of them may change anything in it."""
    with copied(prepared, tmp_path_factory.mktemp("shared")) as only:
        yield only


@pytest.fixture
def target(shared: Target) -> Iterator[Target]:
    """Yield the shared service, and check after the test that nothing in it has changed."""
    yield shared
    shared.unchanged()


@pytest.fixture
def own_target(prepared: tuple[Path, dict[str, str]], tmp_path: Path) -> Iterator[Target]:
    """Yield a service of its own to a test that stores something."""
    with copied(prepared, tmp_path) as own:
        yield own


@contextmanager
def copied(prepared: tuple[Path, dict[str, str]], folder: Path) -> Iterator[Target]:
    """Yield a service over a copy of the prepared database."""
    source, places = prepared
    path = folder / "leasehold.db"
    shutil.copyfile(source, path)
    with world(path, now=LATER) as copy:
        yield Target(copy, places, picture(copy))
