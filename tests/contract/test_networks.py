from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.openstack.networks import AT_ONCE
from leasehold.cloud.ports import CloudPermanentError, HeldError, TakenError
from tests.contract.lab import GATEWAY, unique

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud, FloatingIp
    from tests.contract.lab import Lab


def create(lab: Lab, address: str, project: str, *tags: str) -> FloatingIp:
    return lab.cloud.networks.create_floating_ip(lab.network_id, lab.subnet_id, address, project, frozenset(tags))


def test_a_network_has_its_subnets(lab: Lab) -> None:
    network = lab.cloud.networks.get(lab.network_id)
    assert network is not None
    subnet = next(found for found in network.subnets if found.id == lab.subnet_id)
    inside = ip_network(subnet.cidr)
    for address in lab.addresses:
        assert ip_address(address) in inside
        assert not any(
            ip_address(first) <= ip_address(address) <= ip_address(last)  # type: ignore[operator]  # Of one version.
            for first, last in subnet.allocation_pools
        )


@pytest.mark.parametrize("name", ["no-such-network", "", ".", "..", "a/b", "a?b=c", "%2e%2e", "ä"])
def test_a_name_that_means_something_in_a_url_is_only_a_name(cloud: Cloud, name: str) -> None:
    assert cloud.networks.get(name) is None


def test_create_once_with_tags_and_find_again(lab: Lab) -> None:
    networks, address, tag = lab.cloud.networks, lab.addresses[0], f"reservation:{unique('r')}"
    assert networks.floating_ip(lab.network_id, address) is None
    made = create(lab, address, lab.projects[0], "blazar", tag)
    assert (made.address, made.network_id, made.project_id) == (address, lab.network_id, lab.projects[0])
    assert made.tags == {"blazar", tag}
    assert made.port_id is None
    assert create(lab, address, lab.projects[0], "blazar", tag) == made
    assert networks.floating_ip(lab.network_id, address) == made
    assert networks.list_floating_ips(tag) == [made]


def test_lost_tags_are_added(lab: Lab) -> None:
    """Neutron creates and tags an address in two calls, and a crash may happen between them."""
    made = create(lab, lab.addresses[0], lab.projects[0])
    assert made.tags == frozenset()
    again = create(lab, lab.addresses[0], lab.projects[0], "blazar", "reservation:r")
    assert again.id == made.id
    assert again.tags == {"blazar", "reservation:r"}


def test_an_address_that_somebody_holds(lab: Lab) -> None:
    address, (first, second) = lab.addresses[0], lab.projects
    made = create(lab, address, first, "blazar", "reservation:r1")
    with pytest.raises(HeldError, match=address) as caught:
        create(lab, address, second, "blazar", "reservation:r2")
    assert caught.value.holder == made
    assert first not in str(caught.value)
    lab.cloud.networks.delete_floating_ip(made.id)
    assert create(lab, address, second, "blazar", "reservation:r2").project_id == second


def test_an_address_whose_tags_its_project_replaced_is_still_the_leases(lab: Lab) -> None:
    address, project = lab.addresses[0], lab.projects[0]
    made = create(lab, address, project, "mine", "reservation:another")
    again = create(lab, address, project, "blazar", "reservation:r")
    assert again.id == made.id
    assert again.tags == {"mine", "blazar", "reservation:r"}


def test_all_addresses_of_a_network(lab: Lab) -> None:
    made = [create(lab, address, project) for address, project in zip(lab.addresses, lab.projects, strict=False)]
    found = {each.address: each for each in lab.cloud.networks.list_network(lab.network_id)}
    assert [found.get(each.address) for each in made] == made
    assert not lab.cloud.networks.list_network(unique("network"))


def test_a_port_has_an_address_and_a_floating_ip_is_no_such_port(lab: Lab) -> None:
    """Neutron makes a port for each floating IP, too."""
    networks, (first, second) = lab.cloud.networks, lab.addresses[:2]
    assert not networks.ports_at(lab.network_id, lab.addresses)
    made = create(lab, first, lab.projects[0])
    remove = lab.put_port(second)
    (port,) = networks.ports_at(lab.network_id, lab.addresses)
    assert (port.network_id, port.address, port.owner) == (lab.network_id, second, "")
    assert networks.ports_at(lab.network_id, [second]) == [port]
    assert not networks.ports_at(lab.network_id, [first])
    assert not networks.ports_at(lab.network_id, [])
    assert not networks.ports_at(unique("network"), lab.addresses)
    assert networks.list_network(lab.network_id) == [made]
    remove()
    assert not networks.ports_at(lab.network_id, lab.addresses)


def test_many_addresses_are_asked_for_at_once(lab: Lab) -> None:
    network = lab.cloud.networks.get(lab.network_id)
    assert network is not None
    subnet = next(each for each in network.subnets if each.id == lab.subnet_id)
    everything = {str(each) for each in ip_network(subnet.cidr).hosts()}
    assert len(everything) > AT_ONCE
    before = {each.address for each in lab.cloud.networks.ports_at(lab.network_id, everything)}
    lab.put_port(lab.addresses[0])
    lab.put_gateway(lab.addresses[1])
    after = {each.address: each.owner for each in lab.cloud.networks.ports_at(lab.network_id, everything)}
    assert set(after) - before == set(lab.addresses[:2])
    assert (after[lab.addresses[0]], after[lab.addresses[1]]) == ("", GATEWAY)


def test_an_address_that_a_port_has_becomes_no_floating_ip(lab: Lab) -> None:
    address = lab.addresses[0]
    remove = lab.put_port(address)
    with pytest.raises(TakenError, match=f"address {address} is in use in its network by something") as caught:
        create(lab, address, lab.projects[0], "reservation:r")
    (port,) = lab.cloud.networks.ports_at(lab.network_id, [address])
    assert caught.value.holder == port
    assert port.id not in str(caught.value)
    remove()
    assert create(lab, address, lab.projects[0], "reservation:r").address == address


def test_delete_any_number_of_times(lab: Lab) -> None:
    networks, address = lab.cloud.networks, lab.addresses[0]
    made = create(lab, address, lab.projects[0], "reservation:r")
    for _ in range(2):
        networks.delete_floating_ip(made.id)
    assert networks.floating_ip(lab.network_id, address) is None
    assert networks.list_floating_ips("reservation:r") == []


def test_addresses_that_can_never_be(lab: Lab) -> None:
    for network, subnet, address in (
        (lab.network_id, lab.subnet_id, "198.51.100.1"),
        (lab.network_id, unique("subnet"), lab.addresses[0]),
        (unique("network"), lab.subnet_id, lab.addresses[0]),
    ):
        with pytest.raises(CloudPermanentError):
            lab.cloud.networks.create_floating_ip(network, subnet, address, lab.projects[0], frozenset())
