"""A shared host is drawn for leases and given back, and servers outlive a lease, between two computes."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.openstack.leasehold import FREE_POOL, QUICK, running_leasehold
from tests.openstack.person import HOST, Person, minute, nothing_left
from tests.openstack.test_scheduler import flavor as flavor_with
from tests.openstack.test_scheduler import preemptibles_allowed
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

__all__ = ["preemptibles_allowed"]

WITHIN = 120.0


@pytest.fixture(scope="module")
def admin(cloud: RunningCloud) -> Iterator[Person]:
    """Yield the administrator of a cloud with a new Leasehold."""
    with running_leasehold(cloud, "two_pools", QUICK):
        yield Person(cloud, "admin")


@pytest.fixture
def demo(admin: Person) -> Person:
    return Person(admin.cloud, "demo")


def flavor(person: Person) -> str:
    return str(person.sdk.compute.find_flavor("m1.nano", ignore_missing=False).id)


def enrolled(admin: Person, undo: ExitStack, pool: str) -> dict[str, str]:
    """Enrol every compute in this pool, and return the ids of the hosts by name."""
    found = {}
    for name in admin.cloud.computes:
        answer = admin.ask("POST", "/os-hosts", name=name, pool=pool)
        assert answer.status_code == 201, answer.text
        found[name] = answer.json()["host"]["id"]
        undo.callback(admin.blazar.host.delete, found[name])
    return found


def pool_of(admin: Person, host: str) -> Any:
    return admin.ask("GET", f"/os-hosts/{host}").json()["host"]["pool"]


def move(admin: Person, host: str, pool: str) -> None:
    """Ask for a host to be moved to a pool, and wait until it is there."""
    answer = admin.ask("PUT", f"/os-hosts/{host}", pool=pool)
    assert answer.status_code == 200, answer.text
    wait_for(lambda: pool_of(admin, host) == pool, within=WITHIN)


def free(admin: Person) -> set[str]:
    return set(admin.sdk.compute.find_aggregate(FREE_POOL, ignore_missing=False).hosts)


def owner(admin: Person, reservation: str) -> Any:
    """Return whose servers a reservation's aggregate takes."""
    return admin.sdk.compute.find_aggregate(reservation, ignore_missing=False).metadata["blazar:owner"]


def active(person: Person, **keys: object) -> dict[str, Any]:
    """Lease a host from now on with keys of 1.3, and return the lease when it is active."""
    asked = {"name": "ends", "start_date": "now", "end_date": minute(hours=1), "reservations": [{**HOST, **keys}]}
    made = person.ask("POST", "/leases", **asked)
    assert made.status_code == 201, made.text
    return person.lease_with_status(made.json()["lease"]["id"], "ACTIVE")


def where(admin: Person, server: str) -> tuple[str, str]:
    """Return a server's status and host."""
    found = admin.sdk.compute.get_server(server)
    return str(found.status), str(found.compute_host)


def test_a_host_is_drawn_leased_and_given_back_and_no_server_is_lost(admin: Person, demo: Person) -> None:
    with nothing_left(admin), ExitStack() as undo:
        hosts = enrolled(admin, undo, "shared")
        server = demo.boot(flavor(demo))
        # Nova fails to delete a server while a provider of its host goes away.
        undo.callback(wait_for, lambda: server not in demo.servers(), within=WITHIN)
        undo.callback(demo.sdk.compute.delete_server, server)
        assert demo.outcome(server) == "ACTIVE"
        _, drawn = where(admin, server)
        move(admin, hosts[drawn], "reservation")
        assert free(admin) == {drawn}
        status, other = where(admin, server)
        assert (status, other != drawn) == ("ACTIVE", True)
        lease = demo.lease(HOST)
        (reservation,) = lease["reservations"]
        leased = demo.boot(flavor(demo), reservation["id"])
        assert demo.outcome(leased) == "ACTIVE"
        assert where(admin, leased) == ("ACTIVE", drawn)
        refused = admin.ask("PUT", f"/os-hosts/{hosts[drawn]}", pool="shared")
        assert (refused.status_code, refused.json()["field"]) == (409, "pool")
        demo.delete(lease)
        wait_for(lambda: free(admin) == {drawn}, within=WITHIN)
        move(admin, hosts[drawn], "shared")
        assert free(admin) == set()
        assert where(admin, server) == ("ACTIVE", other)


@contextmanager
def alone(admin: Person, host: str) -> Iterator[None]:
    """Let Nova's scheduler choose no other host meanwhile."""
    with ExitStack() as undo:
        for name in admin.cloud.computes:
            if name != host:
                undo.callback(admin.set_compute, name, status="enabled")
                admin.set_compute(name, status="disabled", disabled_reason="a test")
        yield


def test_a_host_is_drawn_with_its_preemptible_server_which_a_lease_ends(
    admin: Person, demo: Person, preemptibles_allowed: None
) -> None:
    alt, name = Person(admin.cloud, "alt"), admin.cloud.computes[0]
    with (
        flavor_with(admin.sdk, {"blazar:preemptible": "true"}) as preemptible,
        nothing_left(admin),
        ExitStack() as undo,
    ):
        hosts = enrolled(admin, undo, "shared")
        move(admin, hosts[name], "reservation")
        spot = alt.boot(preemptible)
        undo.callback(alt.sdk.compute.delete_server, spot)
        assert (alt.outcome(spot), where(admin, spot)[1]) == ("ACTIVE", name)
        move(admin, hosts[name], "shared")
        with alone(admin, name):
            server = demo.boot(flavor(demo))
            undo.callback(wait_for, lambda: server not in demo.servers(), within=WITHIN)
            undo.callback(demo.sdk.compute.delete_server, server)
            assert (demo.outcome(server), where(admin, server)[1]) == ("ACTIVE", name)
        move(admin, hosts[name], "reservation")
        status, other = where(admin, server)
        assert (status, other != name) == ("ACTIVE", True)
        assert where(admin, spot) == ("ACTIVE", name)
        lease = demo.lease(HOST)
        assert spot not in alt.servers()
        leased = demo.boot(flavor(demo), lease["reservations"][0]["id"])
        assert (demo.outcome(leased), where(admin, leased)) == ("ACTIVE", ("ACTIVE", name))
        demo.delete(lease)
        assert where(admin, server) == ("ACTIVE", other)


def test_servers_live_on_after_their_lease_and_the_host_is_free_when_they_are_gone(admin: Person, demo: Person) -> None:
    with nothing_left(admin), ExitStack() as undo:
        enrolled(admin, undo, "reservation")
        lease = active(demo, on_end="recycle", recycle_seconds=3600)
        (reservation,) = lease["reservations"]
        server = demo.boot(flavor(demo), reservation["id"])
        assert demo.outcome(server) == "ACTIVE"
        _, host = where(admin, server)
        demo.blazar.lease.update(lease["id"], end_date=minute())
        demo.lease_with_status(lease["id"], "TERMINATING")
        wait_for(lambda: owner(admin, reservation["id"]) == "closed", within=WITHIN)
        assert not demo.boots(flavor(demo), reservation["id"])
        assert where(admin, server) == ("ACTIVE", host)
        assert host not in free(admin)
        demo.sdk.compute.delete_server(server)
        demo.lease_with_status(lease["id"], "TERMINATED", within=WITHIN)
        assert host in free(admin)


def test_a_host_that_was_given_back_with_a_server_is_drawn_again_and_the_server_moves_on(admin: Person) -> None:
    with nothing_left(admin), ExitStack() as undo:
        hosts = enrolled(admin, undo, "reservation")
        lease = active(admin, on_end="give_back")
        (reservation,) = lease["reservations"]
        server = admin.boot(flavor(admin), reservation["id"])
        undo.callback(wait_for, lambda: server not in admin.servers(), within=WITHIN)
        undo.callback(admin.sdk.compute.delete_server, server)
        assert admin.outcome(server) == "ACTIVE"
        _, host = where(admin, server)
        admin.end(lease)
        wait_for(lambda: pool_of(admin, hosts[host]) == "shared", within=WITHIN)
        assert where(admin, server) == ("ACTIVE", host)
        other = min(hosts.keys() - {host})
        move(admin, hosts[other], "shared")
        move(admin, hosts[host], "reservation")
        assert where(admin, server) == ("ACTIVE", other)
        assert host in free(admin)
