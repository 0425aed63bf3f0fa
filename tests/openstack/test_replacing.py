"""Another resource in place of one: by its owner, for an operator's maintenance, and because an address has failed."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import HOST, Person, minute, nothing_left
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

SEEN_WITHIN = 60
FIRST, SECOND = "172.24.4.201", "172.24.4.202"
"""Outside the pool from which Neutron itself allocates addresses."""


@pytest.fixture(scope="module")
def admin(cloud: RunningCloud) -> Iterator[Person]:
    """Yield the administrator of a cloud with a new Leasehold and every compute enrolled."""
    with running_leasehold(cloud, "replacing", {"physical:host": {"polling_interval": 1}}):
        person = Person(cloud, "admin")
        with nothing_left(person), ExitStack() as undo:
            for name in cloud.computes:
                undo.callback(person.blazar.host.delete, person.blazar.host.create(name=name)["id"])
            yield person


@pytest.fixture
def demo(admin: Person) -> Person:
    return Person(admin.cloud, "demo")


def hosts_of(admin: Person, reservation: str) -> list[str]:
    found = admin.sdk.compute.find_aggregate(reservation)
    return [] if found is None else list(found.hosts or [])


def free(admin: Person) -> set[str]:
    return set(admin.sdk.compute.find_aggregate("freepool", ignore_missing=False).hosts)


def test_an_owner_swaps_a_host_and_the_server_on_it_stays(admin: Person, demo: Person) -> None:
    with nothing_left(admin):
        lease = demo.lease(HOST)
        (reservation,) = (each["id"] for each in lease["reservations"])
        server = demo.boot(str(demo.sdk.compute.find_flavor("m1.tiny", ignore_missing=False).id), reservation)
        assert demo.outcome(server) == "ACTIVE"
        (old,) = hosts_of(admin, reservation)
        path = f"/leases/{lease['id']}/swap"
        asked = demo.ask("POST", path, server=server)
        assert (asked.status_code, asked.json()["details"]) == (409, {"servers": [server]})
        assert demo.ask("POST", path, server=server, servers=[server]).status_code == 200
        wait_for(lambda: hosts_of(admin, reservation) not in ([], [old]), within=SEEN_WITHIN)
        there = admin.sdk.compute.get_server(server)
        assert (there.status, there.compute_host) == ("ACTIVE", old)
        assert old not in free(admin)
        demo.sdk.compute.delete_server(server)
        wait_for(lambda: old in free(admin), within=SEEN_WITHIN)
        demo.end(lease)


def test_a_maintenance_window_moves_a_lease_that_has_not_started(admin: Person, demo: Person) -> None:
    with nothing_left(admin):
        tomorrow = minute(days=1), minute(days=2)
        lease = demo.promise(HOST, *tomorrow)
        (before,) = (each for each in admin.blazar.allocation.list("os-hosts") if each["reservations"])
        window = {"name": "new fans", "start_date": "now", "end_date": tomorrow[1], "hosts": [before["resource_id"]]}
        assert admin.ask("POST", "/maintenances", **window).status_code == 409
        made = admin.ask("POST", "/maintenances", **window, on_conflict="move")
        assert (made.status_code, made.json()["maintenance"]["moved"]) == (201, [lease["id"]])
        held = {
            each["resource_id"]: {part["lease_id"] for part in each["reservations"]}
            for each in admin.blazar.allocation.list("os-hosts")
            if each["reservations"]
        }
        assert lease["id"] not in held[before["resource_id"]]
        assert lease["id"] in set().union(*held.values())
        gone = f"/maintenances/{made.json()['maintenance']['id']}"
        assert admin.ask("DELETE", gone).status_code == 204
        demo.delete(lease)
        wait_for(lambda: not [each for each in admin.blazar.allocation.list("os-hosts") if each["reservations"]])


def test_an_address_that_the_cloud_assigns_itself_is_replaced(admin: Person, demo: Person) -> None:
    network = admin.sdk.network.find_network("public", ignore_missing=False)

    def reservable() -> set[str]:
        return {each["floating_ip_address"] for each in admin.blazar.floatingip.list() if each["reservable"]}

    def addresses() -> set[str]:
        return {each.floating_ip_address for each in demo.sdk.network.ips()}

    with nothing_left(admin), ExitStack() as undo:
        for address in (FIRST, SECOND):
            made = admin.blazar.floatingip.create(network.id, address)
            undo.callback(admin.blazar.floatingip.delete, made["id"])
        with taken(admin, network.id, FIRST):
            wait_for(lambda: reservable() == {SECOND}, within=SEEN_WITHIN)
        wait_for(lambda: reservable() == {FIRST, SECOND}, within=SEEN_WITHIN)
        wanted = {"resource_type": "virtual:floatingip", "network_id": network.id, "amount": 1}
        lease = demo.lease(wanted)
        (leased,) = addresses()
        with in_a_pool(admin, network, leased):
            wait_for(lambda: addresses() == {FIRST, SECOND}, within=SEEN_WITHIN)
            assert reservable() == {FIRST, SECOND} - {leased}
            (part,) = demo.blazar.lease.get(lease["id"])["reservations"]
            assert (part["missing_resources"], part["resources_changed"]) == (False, True)
        demo.end(lease)
        assert addresses() == set()
        demo.delete(lease)
        wait_for(lambda: reservable() == {FIRST, SECOND}, within=SEEN_WITHIN)


@contextmanager
def taken(admin: Person, network: str, address: str) -> Iterator[None]:
    """Let another project have the address without a lease."""
    alt = Person(admin.cloud, "alt").sdk.current_project_id
    made = admin.sdk.network.create_ip(floating_network_id=network, floating_ip_address=address, project_id=alt)
    try:
        yield
    finally:
        admin.sdk.network.delete_ip(made)


@contextmanager
def in_a_pool(admin: Person, network: Any, address: str) -> Iterator[None]:
    """Put the address into an allocation pool of its subnet."""
    subnet = next(each for ident in network.subnet_ids if (each := admin.sdk.network.get_subnet(ident)).ip_version == 4)
    before = subnet.allocation_pools
    admin.sdk.network.update_subnet(subnet, allocation_pools=[*before, {"start": address, "end": address}])
    try:
        yield
    finally:
        admin.sdk.network.update_subnet(subnet, allocation_pools=before)
