"""Fillers on the real cloud: a project uses a host until a lease needs it, and the lease starts on time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from tests.openstack.leasehold import QUICK, Options, configuration, running_leasehold
from tests.openstack.person import HOST, Person, minute, nothing_left
from tests.openstack.test_two_pools import WITHIN, flavor, free, where
from tests.processes import as_text, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.ports import Cloud
    from tests.openstack.cloud import RunningCloud

NOTICE, EVICT, EVERY = 10, 120, 1
"""In seconds. A lease that begins as soon as a host with a filler can be ready begins about two minutes later."""
OPTIONS: Options = {
    **QUICK,
    "filler": {
        "hosts": 3,
        "notice_seconds": NOTICE,
        "evict_seconds": EVICT,
        "every_seconds": EVERY,
        "least_seconds": 60,
    },
}


@pytest.fixture(scope="module")
def admin(cloud: RunningCloud) -> Iterator[Person]:
    """Yield the administrator of a cloud with a new Leasehold whose projects may have fillers."""
    with running_leasehold(cloud, "fillers", OPTIONS):
        yield Person(cloud, "admin")


@pytest.fixture
def ports(cloud: RunningCloud, tmp_path: Path) -> Cloud:
    file = tmp_path / "leasehold.conf"
    file.write_text(as_text(configuration(cloud, "sqlite://", {})))
    return openstack_cloud(conf.load(["--config-file", str(file)]).raw)


@pytest.fixture
def host(admin: Person) -> Iterator[str]:
    """Enrol one host, yield its name, and remove it again."""
    name: str = admin.cloud.computes[0]
    with nothing_left(admin):
        made = admin.blazar.host.create(name=name)
        wait_for(lambda: free(admin) == {name}, within=WITHIN)
        yield name
        admin.blazar.host.delete(made["id"])


def filled(person: Person, **more: Any) -> Any:
    """Ask for a filler of one host, and return it when the host has come."""
    answer = person.ask("POST", "/fillers", reservation={**HOST, **more}, name="idle")
    assert answer.status_code == 201, answer.text
    ident = answer.json()["filler"]["id"]
    wait_for(lambda: state(person, ident) == "active", within=WITHIN)
    return filler(person, ident)


def filler(person: Person, ident: str) -> Any:
    return person.ask("GET", f"/fillers/{ident}").json()["filler"]


def state(person: Person, ident: str) -> str:
    (found,) = filler(person, ident)["hosts"]
    return str(found["state"])


def booted(person: Person, reservation: str) -> str:
    server = person.boot(flavor(person), reservation)
    assert person.outcome(server) == "ACTIVE"
    return server


def test_its_server_is_shelved_before_the_lease_and_another_projects_cannot_come(
    admin: Person, ports: Cloud, host: str
) -> None:
    demo, alt = (Person(admin.cloud, name) for name in ("demo", "alt"))
    made = filled(demo, before_end="shelve")
    assert made["guaranteed_until"] is None
    # The filler's own id is a hint as well, for all of its hosts; nobody else's.
    server = booted(demo, made["id"])
    assert where(admin, server) == ("ACTIVE", host)
    stranger = alt.boot(flavor(alt), made["hosts"][0]["id"])
    assert alt.outcome(stranger) == "ERROR"
    alt.sdk.compute.delete_server(stranger)
    refused = alt.ask("POST", "/leases", name="now", start_date="now", duration_seconds=3600, reservations=[HOST])
    assert refused.status_code == 409, refused.text
    ready = datetime.fromisoformat(refused.json()["details"]["nearest"]["start"])
    assert ready - datetime.now(UTC) < timedelta(seconds=NOTICE + EVICT + 2 * EVERY + 60)
    start = ready.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    answer = alt.ask("POST", "/leases", name="soon", start_date=start, duration_seconds=3600, reservations=[HOST])
    assert answer.status_code == 201, answer.text
    lease = answer.json()["lease"]
    wait_for(lambda: state(demo, made["id"]) == "leaving", within=WITHIN)
    told = filler(demo, made["id"])["hosts"][0]
    assert told["reason"] == "A lease needs its host."
    assert where(admin, server) == ("ACTIVE", host)
    wait_for(lambda: state(demo, made["id"]) == "ended", within=2 * WITHIN)
    ended = filler(demo, made["id"])
    assert datetime.fromisoformat(ended["ended_at"]) < ready
    assert [each["status"] for each in ended["hosts"][0]["shelved"]] == ["done"]
    assert where(admin, server)[0] == "SHELVED_OFFLOADED"
    assert not ports.servers.on_host(host)
    assert not ports.providers.claimed({host})
    alt.lease_with_status(lease["id"], "ACTIVE", within=4 * WITHIN)
    used = booted(alt, lease["reservations"][0]["id"])
    assert where(admin, used) == ("ACTIVE", host)
    alt.sdk.compute.delete_server(used)
    wait_for(lambda: used not in alt.servers(), within=WITHIN)
    alt.delete(lease)
    demo.sdk.compute.delete_server(server)
    wait_for(lambda: free(admin) == {host}, within=WITHIN)


def test_a_locked_server_and_one_that_boots_during_the_notice_end_in_time(
    admin: Person, ports: Cloud, host: str
) -> None:
    demo, alt = (Person(admin.cloud, name) for name in ("demo", "alt"))
    made = filled(demo)
    locked = booted(demo, made["hosts"][0]["id"])
    demo.sdk.compute.lock_server(locked)
    start = minute(seconds=NOTICE + EVICT + 2 * EVERY + 60)
    lease = alt.promise(HOST, start, minute(hours=1))
    wait_for(lambda: state(demo, made["id"]) == "leaving", within=4 * WITHIN)
    late = demo.boot(flavor(demo), made["hosts"][0]["id"])
    wait_for(lambda: state(demo, made["id"]) == "ended", within=2 * WITHIN)
    assert not ports.servers.on_host(host)
    assert not ports.servers.with_ids({locked})
    alt.lease_with_status(lease["id"], "ACTIVE", within=4 * WITHIN)
    alt.delete(lease)
    if late in demo.servers():
        demo.sdk.compute.delete_server(late)
        wait_for(lambda: late not in demo.servers(), within=WITHIN)
    wait_for(lambda: free(admin) == {host}, within=WITHIN)


def test_the_audit_finds_nothing_wrong_with_a_filler(admin: Person, host: str) -> None:
    demo = Person(admin.cloud, "demo")
    made = filled(demo)
    booted(demo, made["id"])
    begun = datetime.now(UTC)
    assert admin.ask("POST", "/audit").status_code == 202

    def done() -> Any:
        found = admin.ask("GET", "/audit").json()["audit"]
        ended = found["ended_at"]
        return found if ended is not None and datetime.fromisoformat(ended) > begun else None

    wait_for(lambda: done() is not None, within=4 * WITHIN)
    assert done()["findings"] == []
    assert demo.ask("DELETE", f"/fillers/{made['id']}").status_code == 202
    wait_for(lambda: state(demo, made["id"]) == "ended", within=2 * WITHIN)
    assert free(admin) == {host}
    assert not demo.servers()
