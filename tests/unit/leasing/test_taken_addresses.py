"""Enrolled addresses that something has in the cloud which is no floating IP: a router, a server, another port."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from leasehold.cloud.sandbox import tables as sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.features.audit.job import reconcile
from leasehold.leasing.reading.queries import list_resources
from leasehold.leasing.resources.enrol import enrol
from leasehold.leasing.resources.health import check_health
from leasehold.manager.monitor import check_once
from leasehold.model.errors import CloudUnavailableError, InUseError
from leasehold.model.finding import FindingKind
from leasehold.model.resource import FLOATING_IP, Health
from leasehold.model.states import LeaseStatus
from tests.factory import NETWORK, floating_ips, run_for
from tests.mishaps import put_port, remove_port
from tests.unit.leasing.looking import AT_ONCE, findings
from tests.unit.leasing.test_heal import flags
from tests.unit.leasing.test_heal_missing import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.resource import Resource
    from tests.factory import World

pytestmark = pytest.mark.slow

ADDRESS, ANOTHER = "203.0.113.200", "203.0.113.201"
GATEWAY = "network:router_gateway"


def enrolled(world: World) -> dict[str, Resource]:
    """Return the enrolled addresses by what they are."""
    return {each.label: each for each in list_resources(world.service, FLOATING_IP)}


def health(world: World, address: str = ADDRESS) -> Health:
    return enrolled(world)[address].health


def put_a_port(world: World) -> Callable[[], None]:
    made = put_port(world.cloud, NETWORK, ADDRESS, GATEWAY)
    return lambda: remove_port(world.cloud, made.id)


def make_it_the_gateway(world: World) -> Callable[[], None]:
    """Make the address the gateway of its subnet, which Neutron does not keep for itself."""

    def change(gateway: str) -> None:
        world.execute(update(sandbox.subnets).values(gateway=gateway))

    change(ADDRESS)
    return lambda: change("203.0.113.1")


@pytest.mark.parametrize("take", [put_a_port, make_it_the_gateway])
def test_an_address_that_is_taken_is_replaced_and_can_be_leased_again(
    world: World, take: Callable[[World], Callable[[], None]]
) -> None:
    lease = world.lease(floating_ips(), start=0.5, end=2)
    assert set(world.holds(lease)) == {ADDRESS}
    give_back = take(world)
    check_once(world.service)
    assert (health(world), health(world, ANOTHER)) == (Health.FAILED, Health.HEALTHY)
    assert (set(world.holds(lease)), flags(world, lease)) == ({ANOTHER}, WHOLE)
    give_back()
    check_once(world.service)
    assert health(world) is Health.HEALTHY
    named = world.lease(floating_ips(required_floatingips=[ADDRESS]), start=0.5, end=2)
    assert set(world.holds(named)) == {ADDRESS}


def test_an_address_that_its_lease_has_is_not_taken(world: World) -> None:
    lease = world.active(floating_ips(), end=2)
    put_beside = put_port(world.cloud, NETWORK, "203.0.113.240")
    check_once(world.service)
    assert (set(world.holds(lease)), health(world)) == ({ADDRESS}, Health.HEALTHY)
    assert put_beside.address not in enrolled(world)


def test_an_address_is_taken_on_its_own_network_only(world: World) -> None:
    world.execute(sandbox.networks.insert().values(id="another", name="another"))
    put_port(world.cloud, "another", ADDRESS)
    check_once(world.service)
    assert health(world) is Health.HEALTHY


@pytest.mark.parametrize("permanent", [False, True])
def test_while_the_cloud_does_not_say_who_has_it_an_address_keeps_its_state(world: World, *, permanent: bool) -> None:
    give_back = put_a_port(world)
    world.cloud.faults.set(Fault("networks.ports_at", error="before", permanent=permanent))
    assert check_health(world.service).silent == {FLOATING_IP}
    assert health(world) is Health.HEALTHY
    world.cloud.faults.clear()
    assert check_health(world.service).silent == frozenset()
    assert health(world) is Health.FAILED
    give_back()
    world.cloud.faults.set(Fault("networks.ports_at", error="before", permanent=permanent))
    check_health(world.service)
    assert health(world) is Health.FAILED


def test_an_address_that_is_taken_is_not_enrolled(world: World) -> None:
    free = "203.0.113.210"
    port = put_port(world.cloud, NETWORK, free, GATEWAY)
    asked = {"floating_network_id": NETWORK, "floating_ip_address": free}
    with pytest.raises(InUseError, match=rf"^The address {free} is in use in this network by .* gateway") as caught:
        enrol(world.service, FLOATING_IP, asked)
    assert caught.value.field == "floating_ip_address"
    assert port.id not in str(caught.value)
    remove_port(world.cloud, port.id)
    world.cloud.faults.set(Fault("networks.ports_at", error="before"))
    with pytest.raises(CloudUnavailableError):
        enrol(world.service, FLOATING_IP, asked)
    world.cloud.faults.clear()
    assert enrol(world.service, FLOATING_IP, asked).label == free


def test_a_start_says_that_the_address_is_taken_and_goes_on_when_it_is_free(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the port to the operator, the lease's owner is not told whose it is."""
    caplog.set_level(logging.WARNING)
    port = put_port(world.cloud, NETWORK, ADDRESS, GATEWAY)
    lease = world.active(floating_ips(required_floatingips=[ADDRESS]), start=0, end=1)
    what = "something that is no floating IP, such as the gateway of a router or a port of a server"
    assert world.get(lease).status is LeaseStatus.STARTING
    assert world.reason(lease) == f"Waiting for the cloud: address {ADDRESS} is in use in its network by {what}."
    waits = f"waits for address {ADDRESS}, which port {port.id} ({GATEWAY}) of network {NETWORK} has"
    assert any(waits in message for message in caplog.messages)
    remove_port(world.cloud, port.id)
    run_for(world, minutes=2)
    assert world.get(lease).status is LeaseStatus.ACTIVE


def test_the_audit_names_the_port_and_leaves_it_to_the_operator(world: World) -> None:
    give_back = put_a_port(world)
    (port,) = world.cloud.networks.ports_at(NETWORK, [ADDRESS])
    (finding,) = findings(world)
    assert (finding.kind, finding.subject, finding.mend) == (FindingKind.PLACE, enrolled(world)[ADDRESS].id, None)
    assert finding.what == f"Port {port.id} ({GATEWAY}) of network {NETWORK} has the enrolled address {ADDRESS}."
    reconcile(world.service, AT_ONCE)
    assert world.cloud.networks.ports_at(NETWORK, [ADDRESS]) == [port]
    give_back()
    assert not findings(world)
