"""Provide a service with data of every kind, and check that bad input changes none of it."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from leasehold.cloud.sandbox import seed, tables
from leasehold.features.filler.model import Filler
from leasehold.features.filler.store import FILLERS
from tests.bad_input.refusal import NEW, NEWEST, PRICED, VERSION
from tests.bad_input.values import LAYOUT, NEWER, SPANS
from tests.factory import flavors, floating_ips
from tests.v1.world import HOST, INSTANCE, MEMBER, NOW, World, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from falcon import testing

    from tests.bad_input.refusal import Refusal

LATER = NOW + timedelta(minutes=2)
PARTS = ("hosts", "instances", "flavors", "addresses", "running")
"""Names of reservations: one of each type of the lease, and that of the active lease. A body holds `{hosts}`."""


def keys_of(body: Any) -> set[str]:
    """Return the keys of a body and of its reservations."""
    if not isinstance(body, dict):
        return set()
    parts = body.get("reservations")
    return (
        {*body, *(key for part in parts if isinstance(part, dict) for key in part)}
        if isinstance(parts, list)
        else {*body}
    )


@dataclass
class Target:
    """The service under test, the ids for its paths, and a snapshot of all its rows."""

    world: World
    places: dict[str, str]
    before: dict[str, list[Any]]

    def ask(self, method: str, template: str, body: Any = None, **more: Any) -> testing.Result:
        """Send a request as an administrator; the path is a template, and bytes as the body are sent unchanged."""
        newer = template.startswith(NEW) or not (NEWER | SPANS | LAYOUT).keys().isdisjoint(keys_of(body))
        version = NEWEST if newer else "1.0"
        headers = {**self.world.headers, VERSION: f"reservation {version}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
            more["body"] = body if isinstance(body, bytes) else self.written(body)
        headers |= more.pop("headers", {})
        return self.world.web.simulate_request(method, template.format(**self.places), headers=headers, **more)

    def written(self, body: Any) -> str:
        """Return the body as JSON, with the ids of the target's reservations."""
        text = json.dumps(body)
        for name in PARTS:
            text = text.replace(f'"{{{name}}}"', f'"{self.places[name]}"')
        return text

    def refuses(self, wanted: Refusal) -> testing.Result:
        """Send a request that must be refused, check the answer, and return it."""
        headers, query = dict(wanted.headers), wanted.query
        answer = self.ask(wanted.method, wanted.path, wanted.body, headers=headers, query_string=query)
        wanted.check(answer)
        return answer

    def accepted(self, rows: Iterable[Refusal]) -> list[str]:
        """Return what is wrong with the answers to these requests, which must all be refused."""
        wrong = []
        for row in rows:
            try:
                self.refuses(row)
            except AssertionError as error:
                wrong.append(f"{row}: {str(error)[:300]}")
        return wrong

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


def filled(new: World) -> Filler:
    """Return a filler of the project, whose hosts it has left."""
    now = new.service.now()
    made = Filler(str(uuid4()), "demo", "alice", "idle", HOST, HOST, 60, None, now, now)
    new.service.db.transact(lambda connection: FILLERS.add(connection, made))
    return made


def fill(new: World) -> dict[str, str]:
    """Fill an empty service, and return the ids of what a path or a body names.

    It holds hosts (all enrolled but gpu-03), addresses, a lease for tomorrow with a reservation of every type, an
    active lease, and a lease of another project.
    """
    for name, properties in seed.SUGGESTED_HOSTS[:-1]:
        new.enrol(name, **properties)
    new.enrol_addresses(3)
    active = new.lease(HOST, end_date=new.date(days=1))
    every_type = (HOST, INSTANCE, flavors(), floating_ips())
    lease = new.lease(*every_type, start_date=new.date(days=1), end_date=new.date(days=2))
    body = {"name": "theirs", "start_date": "now", "end_date": new.date(days=1)}
    new.ask("POST", "/leases", body, headers={**MEMBER, "X-Project-Id": "alt"})
    new.wait(minutes=2)
    places = {"lease_id": lease["id"], "active": active["id"], "host_id": "1", "name": "rack"}
    # A lease is not a maintenance window.
    places |= {"resource_type": "physical:host", "resource_id": "1", "maintenance_id": lease["id"]}
    # Nor has it resources of an owner. An address is published.
    places["owned_id"] = lease["id"]
    # Nor is it a sub-lease.
    places["sub_lease_id"] = lease["id"]
    places["reservation_id"] = lease["reservations"][0]["id"]
    places["running"] = active["reservations"][0]["id"]
    places["floatingip_id"] = new.get("/floatingips")["floatingips"][2]["id"]
    body = {"target": "https://hooks.example.org/"}
    answer = new.ask("POST", "/subscriptions", body, headers={VERSION: "reservation 1.2"})
    places["subscription_id"] = answer.json["subscription"]["id"]
    watched = {"reservation": HOST, "below": 2}
    answer = new.ask("POST", "/alarms", watched, headers={VERSION: "reservation 1.2"})
    places["filler_id"] = filled(new).id
    spent = {
        "project_id": new.headers["X-Project-Id"],
        "name": "spring",
        "amount": "0",
        "start_date": "2029-01-01 00:00",
    }
    spent["end_date"] = "2030-01-01 00:00"
    made = new.ask("POST", "/budgets", spent, headers={VERSION: f"reservation {NEWEST}"})
    places["budget_id"] = made.json["budget"]["id"]
    places["alarm_id"] = answer.json["alarm"]["id"]
    answer = new.ask("POST", "/feeds", {}, headers={VERSION: "reservation 1.3"})
    places["feed_id"] = answer.json["feed"]["id"]
    answer = new.ask("POST", "/lease-templates", {"name": "kept"}, headers={VERSION: "reservation 1.3"})
    places["template_id"] = answer.json["template"]["id"]
    dates = {"start_date": new.date(days=3), "end_date": new.date(days=4)}
    places["published_id"] = publish(new, dates)
    weekly = {"name": "weekly", **dates, "rule": "FREQ=WEEKLY;COUNT=2"}
    answer = new.ask("POST", "/series", weekly, headers={VERSION: "reservation 1.2"})
    places["series_id"] = answer.json["series"]["id"]
    wanted = {"name": "flexible", "latest": new.date(days=9), "duration_seconds": 3600}
    answer = new.ask("POST", "/flexible-leases", wanted, headers={VERSION: f"reservation {NEWEST}"})
    places["flexible_id"] = answer.json["flexible_lease"]["id"]
    coming = {"name": "n", "start_date": "2033-01-01 10:00", "hosts": ["planned-1"], "vcpus": 1, "memory_mb": 1}
    answer = new.ask("POST", "/capacity/increases", coming, headers={VERSION: f"reservation {NEWEST}"})
    places["change_id"] = answer.json["change"]["id"]
    answer = new.ask("POST", "/offers", {"name": "offered", **dates}, headers={VERSION: f"reservation {NEWEST}"})
    places["offer_id"] = answer.json["offer"]["id"]
    return places | dict(zip(PARTS, (part["id"] for part in lease["reservations"]), strict=False))


def publish(new: World, dates: dict[str, Any]) -> str:
    """Let the caller's project own the last address, publish it, and return the id of the offer."""
    address, project = new.get("/floatingips")["floatingips"][-1]["id"], new.headers["X-Project-Id"]
    newest = {VERSION: f"reservation {NEWEST}"}
    new.ask("PUT", f"/resources/virtual:floatingip/{address}", {"owner": project}, headers=newest)
    body = {"name": "lent", "resource_type": "virtual:floatingip", "resource_id": address, **dates}
    answer = new.ask("POST", "/published-offers", body, headers=newest)
    return str(answer.json["published_offer"]["id"])


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return a filled database to copy, and the ids of its rows."""
    path = plant(tmp_path_factory.mktemp("target"))
    with world(path, settings=PRICED) as new:
        return path, fill(new)


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
    with world(path, now=LATER, settings=PRICED) as copy:
        yield Target(copy, places, picture(copy))
