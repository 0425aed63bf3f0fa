"""What users do with leases, through their clients: Blazar's, OpenStack's, and the SDK.

Every compute is enrolled, so no server can run outside the leases. When its lease has ended, each test checks that
nothing is left over in Nova, Placement and Neutron, by a comparison with a listing from before.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import openstack.exceptions
import pytest

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import BY_FLAVOR, BY_SIZE, HOST, Person, minute, nothing_left

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

# Outside the pool from which Neutron itself allocates addresses.
ADDRESS = "172.24.4.201"


@pytest.fixture(scope="module")
def admin(cloud: RunningCloud) -> Iterator[Person]:
    """Yield the administrator of a cloud with a new Leasehold and every compute enrolled, with different clients."""
    with running_leasehold(cloud, "end_to_end"):
        person = Person(cloud, "admin")
        with nothing_left(person), ExitStack() as undo:
            for number, name in enumerate(cloud.computes):
                undo.callback(person.blazar.host.delete, enrol(person, number, name))
            yield person


def enrol(person: Person, number: int, name: str) -> str:
    """Enrol a host, the first two with the command line clients, and return its id."""
    match number:
        case 0:
            host = person.run("openstack", "reservation", "host", "create", name)
        case 1:
            host = person.run("blazar", "host-create", name)
        case _:
            host = person.blazar.host.create(name=name)
    return str(host["id"])


@pytest.fixture
def demo(admin: Person) -> Person:
    return Person(admin.cloud, "demo")


@pytest.fixture
def alt(admin: Person) -> Person:
    return Person(admin.cloud, "alt")


def ordinary_flavor(person: Person) -> str:
    return str(person.sdk.compute.find_flavor("m1.tiny", ignore_missing=False).id)


def test_enrolled_hosts_are_seen_by_every_client(admin: Person) -> None:
    names = {host["hypervisor_hostname"] for host in admin.blazar.host.list()}
    assert names == set(admin.cloud.computes)


def test_leased_hosts_take_the_servers_of_their_project_only(admin: Person, demo: Person, alt: Person) -> None:
    with nothing_left(admin):
        flavor = ordinary_flavor(demo)
        lease = demo.lease(HOST)
        (reservation,) = lease["reservations"]
        server = demo.boot(flavor, reservation["id"])
        assert demo.outcome(server) == "ACTIVE"
        leased = admin.sdk.compute.find_aggregate(reservation["id"], ignore_missing=False)
        assert [admin.sdk.compute.get_server(server).compute_host] == leased.hosts
        assert not demo.boots(flavor)
        assert not alt.boots(flavor, reservation["id"])
        assert not alt.boots(flavor)
        ended = demo.end(lease)
        assert [reservation["status"] for reservation in ended["reservations"]] == ["deleted"]
        assert server not in demo.servers()
        assert not demo.boots(flavor, reservation["id"])


@pytest.mark.parametrize("wanted", [BY_SIZE, BY_FLAVOR], ids=["by size", "by flavor"])
def test_leased_instances_take_as_many_servers_as_were_leased(
    admin: Person, demo: Person, alt: Person, wanted: dict[str, object]
) -> None:
    with nothing_left(admin):
        flavor = ordinary_flavor(demo)
        if wanted["resource_type"] == "flavor:instance":
            wanted = {**wanted, "flavor_id": flavor}
        lease = demo.lease(wanted)
        (reservation,) = lease["reservations"]
        servers = {demo.boot(reservation["id"]) for _ in range(2)}
        assert [demo.outcome(server) for server in servers] == ["ACTIVE", "ACTIVE"]
        assert not demo.boots(reservation["id"])
        assert not demo.boots(flavor)
        with pytest.raises(openstack.exceptions.BadRequestException, match=reservation["id"]):
            alt.boot(reservation["id"])
        demo.end(lease)
        assert not servers & demo.servers()


def test_an_affinity_is_a_server_group_of_the_project(admin: Person, demo: Person) -> None:
    with nothing_left(admin):
        lease = demo.lease({**BY_SIZE, "affinity": False})
        (reservation,) = lease["reservations"]
        group = reservation["server_group_id"]
        servers = {demo.boot(reservation["id"], group_id=group) for _ in range(2)}
        assert [demo.outcome(server) for server in servers] == ["ACTIVE", "ACTIVE"]
        assert len({admin.sdk.compute.get_server(server).compute_host for server in servers}) == 2
        assert set(demo.sdk.compute.get_server_group(group).member_ids) == servers
        demo.end(lease)


def test_a_changed_affinity_has_a_group_of_its_own(admin: Person, demo: Person) -> None:
    with nothing_left(admin):
        lease = demo.promise({**BY_SIZE, "affinity": False}, minute(days=1), minute(days=2))
        (reservation,) = lease["reservations"]
        changed = demo.blazar.lease.update(
            lease["id"], reservations=[{"id": reservation["id"], "affinity": True, "amount": 1}]
        )
        (after,) = changed["reservations"]
        policies = {group.id: group.policies for group in demo.sdk.compute.server_groups()}
        assert policies == {after["server_group_id"]: ["affinity"]}
        demo.delete(lease)


def test_a_leased_floating_ip_is_the_projects_for_the_time(admin: Person, demo: Person, alt: Person) -> None:
    network = admin.sdk.network.find_network("public", ignore_missing=False).id
    with nothing_left(admin):
        enrolled = admin.run("openstack", "reservation", "floatingip", "create", network, ADDRESS)
        lease = demo.run(
            *("blazar", "lease-create", "end to end", "--start-date", minute(), "--end-date", minute(hours=1)),
            *("--reservation", f"resource_type=virtual:floatingip,network_id={network},amount=1"),
        )
        lease = demo.lease_with_status(lease["id"], "ACTIVE")
        (reservation,) = lease["reservations"]
        (address,) = demo.sdk.network.ips(floating_ip_address=ADDRESS)
        assert {"blazar", f"reservation:{reservation['id']}"} <= set(address.tags)
        assert list(alt.sdk.network.ips(floating_ip_address=ADDRESS)) == []
        with port(demo) as port_id:
            demo.sdk.network.update_ip(address, port_id=port_id)
            demo.end(lease)
            assert list(admin.sdk.network.ips(floating_ip_address=ADDRESS)) == []
            assert demo.sdk.network.get_port(port_id)
        demo.blazar.lease.delete(lease["id"])
        admin.blazar.floatingip.delete(enrolled["id"])


@contextmanager
def port(person: Person) -> Iterator[str]:
    """Yield a port of the person's own network, such as a server has."""
    network = person.sdk.network.find_network(f"{person.name}-net", ignore_missing=False)
    made = person.sdk.network.create_port(network_id=network.id)
    try:
        yield str(made.id)
    finally:
        person.sdk.network.delete_port(made)
