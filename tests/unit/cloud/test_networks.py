"""What is asked of Neutron about addresses, and what is made of its answers; `tests/contract` asks a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from leasehold.cloud.openstack.networks import AT_ONCE, OpenStackNetworks
from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, NetworkPort, TakenError

if TYPE_CHECKING:
    from leasehold.cloud.openstack.rest import ServiceClient
    from tests.unit.cloud.scripted import Script

LONGEST_URL = 8000
ADDRESS = "203.0.113.200"
TAKEN = {"NeutronError": {"type": "IpAddressAlreadyAllocated", "message": f"IP address {ADDRESS} already allocated."}}
QUOTA = {"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['floatingip']."}}
NOTHING: dict[str, Any] = {"ports": []}


def row(number: str, owner: str, *addresses: str) -> dict[str, Any]:
    fixed = [{"subnet_id": "s", "ip_address": each} for each in addresses]
    return {"id": number, "device_owner": owner, "fixed_ips": fixed}


def test_ports_of_floating_ips_and_other_addresses_of_a_port_do_not_count(
    neutron: ServiceClient, script: Script
) -> None:
    rows = [
        row("floating", "network:floatingip", "203.0.113.201"),
        row("router", "network:router_gateway", ADDRESS, "2001:db8::1"),
        row("server", "compute:nova", "203.0.113.7", "203.0.113.202"),
    ]
    script.answers = [(200, {"ports": rows})]
    found = OpenStackNetworks(neutron).ports_at("n", {ADDRESS, "203.0.113.201", "203.0.113.202", "2001:DB8::1"})
    assert found == [
        NetworkPort("router", "n", "2001:db8::1", "network:router_gateway"),
        NetworkPort("router", "n", ADDRESS, "network:router_gateway"),
        NetworkPort("server", "n", "203.0.113.202", "compute:nova"),
    ]


def test_many_addresses_are_few_calls_that_read_no_project(neutron: ServiceClient, script: Script) -> None:
    script.answers = [(200, NOTHING)]
    wanted = {f"2001:db8:1111:2222:3333:4444:5555:{number:04x}" for number in range(0xA000, 0xA000 + 2 * AT_ONCE + 1)}
    assert not OpenStackNetworks(neutron).ports_at("n", wanted)
    queries = [parse_qs(urlsplit(path).query) for _, path, _ in script.asked]
    assert [len(each["fixed_ips"]) for each in queries] == [AT_ONCE, AT_ONCE, 1]
    assert {each.removeprefix("ip_address=") for query in queries for each in query["fixed_ips"]} == wanted
    assert {tuple(each["network_id"]) for each in queries} == {("n",)}
    assert {tuple(each["fields"]) for each in queries} == {("id", "fixed_ips", "device_owner")}
    assert max(len(path) for _, path, _ in script.asked) < LONGEST_URL


def test_no_address_is_no_call(neutron: ServiceClient, script: Script) -> None:
    assert not OpenStackNetworks(neutron).ports_at("n", ())
    assert not script.asked


def create(neutron: ServiceClient) -> object:
    return OpenStackNetworks(neutron).create_floating_ip("n", "s", ADDRESS, "demo", frozenset())


def test_an_address_that_a_port_has_is_refused_with_the_cause(neutron: ServiceClient, script: Script) -> None:
    gateway = row("router", "network:router_gateway", ADDRESS)
    script.answers = [(200, {"floatingips": []}), (409, TAKEN), (200, {"ports": [gateway]})]
    with pytest.raises(TakenError, match=f"^address {ADDRESS} is in use in its network by something") as caught:
        create(neutron)
    assert caught.value.holder == NetworkPort("router", "n", ADDRESS, "network:router_gateway")


def test_another_conflict_is_told_as_neutron_tells_it(neutron: ServiceClient, script: Script) -> None:
    script.answers = [(200, {"floatingips": []}), (409, QUOTA), (200, NOTHING)]
    with pytest.raises(CloudTransientError, match="answered 409: Quota exceeded") as caught:
        create(neutron)
    assert not isinstance(caught.value, TakenError)


@pytest.mark.parametrize(("status", "error"), [(403, CloudPermanentError), (500, CloudTransientError)])
def test_ports_that_neutron_does_not_show_are_unknown(
    neutron: ServiceClient, script: Script, status: int, error: type[Exception]
) -> None:
    script.answers = [(status, {"NeutronError": {"message": "No."}})]
    with pytest.raises(error, match=rf"networks\.ports_at: /ports answered {status}: No"):
        OpenStackNetworks(neutron).ports_at("n", [ADDRESS])
