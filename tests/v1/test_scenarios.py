"""Contract clients §1.3: tempest's scenario tests on the sandbox, with a clock that the tests set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.factory import flavors
from tests.v1.world import HOST, INSTANCE, event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.cloud.ports import Server
    from tests.v1.world import World

pytestmark = pytest.mark.slow

KINDS: dict[str, dict[str, Any]] = {
    "host": HOST,
    "instances": {**INSTANCE, "amount": 3, "affinity": None},
    "instances on one host": {**INSTANCE, "amount": 3, "affinity": True},
    "instances on three hosts": {**INSTANCE, "amount": 3, "affinity": False},
    "flavor": flavors(resource_properties=""),
}
SPREAD: dict[object, int] = {True: 1, False: 3}
each_kind = pytest.mark.parametrize("asked", KINDS.values(), ids=KINDS)


def live(world: World, asked: dict[str, Any], end: Callable[[Mapping[str, Any]], object], **changes: Any) -> str:
    """Create a lease from now on, let it start and end, check the cloud at each step, and return the lease's id.

    Every host of the world is enrolled, so only a reservation admits servers.
    """
    everybody = {host.service_host for host in world.cloud.hypervisors.list()}
    assert world.hosts_of("freepool") == everybody == {host["service_name"] for host in world.get("/os-hosts")["hosts"]}
    lease = world.lease(asked, **changes)
    world.wait(seconds=1)
    shown = world.show(lease)
    (reservation,) = shown["reservations"]
    assert (shown["status"], reservation["status"]) == ("ACTIVE", "active")
    exclusive = world.hosts_of(reservation["id"]) if asked is HOST else set()
    assert world.hosts_of("freepool") == everybody - exclusive
    servers = boot_inside(world, reservation)
    end(lease)
    assert not any(world.cloud.servers.find(each.id) for each in servers)
    assert world.cloud.aggregates.get(reservation["id"]) is None
    assert world.cloud.flavors.get(reservation["id"]) is None
    assert world.hosts_of("freepool") == everybody
    assert world.boot("m1.small").status == world.boot("m1.small", reservation["id"]).status == "ERROR"
    return str(lease["id"])


def boot_inside(world: World, reservation: Mapping[str, Any]) -> list[Server]:
    """Boot all the servers that an active reservation admits, and check that it admits no other."""
    ident = reservation["id"]
    if reservation["resource_type"] == HOST["resource_type"]:
        inside, other = [world.boot("m1.small", ident)], world.boot("m1.small", ident, project="alt")
    else:
        assert reservation["flavor_id"] == ident
        inside, other = [world.boot(ident) for _ in range(reservation["amount"])], world.boot(ident)
    hosts = {each.service_host for each in inside}
    assert {each.status for each in inside} == {"ACTIVE"}
    assert hosts <= world.hosts_of(ident)
    assert len(hosts) == SPREAD.get(reservation.get("affinity"), len(hosts))
    assert other.status == world.boot("m1.small").status == "ERROR"
    return inside


def check_ended(world: World, ident: str) -> None:
    """Check that the lease has ended, and that its statuses are those that tempest waits for."""
    lease = world.get(f"/leases/{ident}")["lease"]
    assert (lease["status"], event(lease, "end_lease")["status"]) == ("TERMINATED", "DONE")
    assert [each["status"] for each in lease["reservations"]] == ["deleted"]


@each_kind
def test_clients_1_3_reservation(full: World, asked: dict[str, Any]) -> None:
    """A lease from now on admits the servers of its reservation and no other; its delete removes them and all else.

    Hosts admit servers with the hint, of the owner's project only. Instances have their flavor: `amount` servers boot
    with it, on as many hosts as the affinity says, and one more does not.
    """

    def delete(lease: Mapping[str, Any]) -> None:
        assert full.ask("DELETE", f"/leases/{lease['id']}").status_code == 204
        full.wait(seconds=30)

    ident = live(full, asked, delete)
    assert full.ask("GET", f"/leases/{ident}").status_code == 404


@each_kind
def test_clients_1_3_lease_expiration(full: World, asked: dict[str, Any]) -> None:
    """A lease of 90 seconds is active within a second and has ended by itself within 120."""
    ident = live(full, asked, lambda _: full.wait(seconds=120), end_date=full.date(seconds=90))
    check_ended(full, ident)


@pytest.mark.parametrize(
    ("second", "end", "within"),
    [(0, 30, 60), (1, 30, 60), (40, 30, 60), (59, 30, 60), (40, 60, 90), (40, 0, 1)],
    ids=lambda value: f"{value} s",
)
@pytest.mark.parametrize("kind", ["host", "instances"])
def test_clients_1_3_update(full: World, kind: str, second: int, end: int, within: int) -> None:
    """A PUT with a new end, which may be the current minute, ends an active lease soon; the lease stays readable."""
    full.set_second(second)

    def update(lease: Mapping[str, Any]) -> None:
        full.wait(seconds=75)
        answer = full.ask("PUT", f"/leases/{lease['id']}", {"end_date": full.date(seconds=end)})
        assert answer.status_code == 200, answer.text
        full.wait(seconds=within)

    check_ended(full, live(full, KINDS[kind], update))
