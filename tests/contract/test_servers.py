"""Servers, and where they may be scheduled: the decision table of contract nova-filter §3 on a whole cloud."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Flavor, Inventory
from tests.contract.lab import custom_class, private_flavor, unique
from tests.processes import wait_for

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud
    from tests.contract.lab import Lab


@pytest.fixture
def host_reservation(lab: Lab) -> str:
    return lab.host_reservation()


def reserve_instances(lab: Lab, amount: int) -> str:
    """Return an active instance reservation of the first project, all on the first host (contract resources §3)."""
    name, host, project = unique("reservation"), lab.hosts()[0], lab.projects[0]
    child, cloud = f"blazar_{host.hypervisor_hostname}", lab.cloud
    cloud.providers.ensure_class(custom_class(name))
    cloud.flavors.ensure(private_flavor(name))
    keys = {"reservation": name, "filter_tenant_id": project, "blazar:owner": project}
    cloud.aggregates.ensure(name, None, keys)
    cloud.flavors.grant(name, project)
    cloud.aggregates.add_host(name, host.service_host)
    cloud.aggregates.ensure("freepool", None, {})
    cloud.aggregates.add_host("freepool", host.service_host)
    cloud.providers.ensure_child(host.hypervisor_hostname, child)
    cloud.providers.set_inventory(child, custom_class(name), Inventory(amount, max_unit=1))
    return name


def test_a_server_is_found_by_host_and_by_flavor(lab: Lab) -> None:
    server = lab.boot(lab.projects[0], lab.flavor_id)
    assert server.status == "ACTIVE"
    assert server.service_host is not None
    assert server in lab.cloud.servers.on_host(server.service_host)
    assert server in lab.cloud.servers.with_flavor(lab.flavor_id)
    assert server in lab.cloud.servers.on_hosts({server.service_host, "no-such-host"})
    everywhere = {server.service_host, *(f"no-such-host-{number}" for number in range(20))}
    assert server in lab.cloud.servers.on_hosts(everywhere)
    assert server.created_at is not None
    assert server.created_at.tzinfo is not None
    assert lab.cloud.servers.with_ids({server.id, unique("server")}) == [server]
    lab.remove(server)
    lab.cloud.servers.delete(server.id)
    assert not lab.cloud.servers.with_ids({server.id})
    assert server not in lab.cloud.servers.on_host(server.service_host)
    assert server not in lab.cloud.servers.with_flavor(lab.flavor_id)


def test_nothing_is_nowhere(cloud: Cloud) -> None:
    assert not cloud.servers.on_host("no-such-host")
    assert not cloud.servers.on_hosts(())
    assert not cloud.servers.on_hosts({f"no-such-host-{number}" for number in range(20)})
    assert not cloud.servers.with_flavor(unique("flavor"))
    assert not cloud.servers.with_ids(())
    cloud.servers.delete(unique("server"))


def test_a_hint_leads_the_owner_into_the_reservation(lab: Lab, host_reservation: str) -> None:
    server = lab.boot(lab.projects[0], lab.flavor_id, [host_reservation])
    assert (server.status, server.service_host) == ("ACTIVE", lab.host)


def test_a_project_may_be_let_in(lab: Lab, host_reservation: str) -> None:
    stranger = lab.projects[1]
    assert lab.boot(stranger, lab.flavor_id, [host_reservation]).status == "ERROR"
    lab.cloud.aggregates.ensure(host_reservation, f"blazar_{host_reservation}", {stranger: "blazar:project"})
    # Nova's scheduler hears of it a moment later.
    wait_for(lambda: lab.boot(stranger, lab.flavor_id, [host_reservation]).status == "ACTIVE", within=60)


def test_a_hint_to_nothing_finds_no_host(lab: Lab, host_reservation: str) -> None:
    server = lab.boot(lab.projects[0], lab.flavor_id, [unique("reservation")])
    assert (server.status, server.service_host) == ("ERROR", None)
    assert server in lab.cloud.servers.with_flavor(lab.flavor_id)


def test_without_a_hint_reserved_and_free_hosts_are_closed(lab: Lab, host_reservation: str) -> None:
    lab.cloud.aggregates.ensure("freepool", None, {})
    for host in lab.cloud.hypervisors.list():
        if host.service_host != lab.host:
            lab.cloud.aggregates.add_host("freepool", host.service_host)
    assert lab.boot(lab.projects[0], lab.flavor_id).status == "ERROR"
    assert lab.boot(lab.projects[0], lab.flavor_id, ["freepool"]).status == "ERROR"
    lab.cloud.aggregates.remove_host("freepool", lab.hosts()[1].service_host)
    server = lab.boot(lab.projects[0], lab.flavor_id)
    assert (server.status, server.service_host) == ("ACTIVE", lab.hosts()[1].service_host)


def test_no_more_instances_than_reserved(lab: Lab) -> None:
    reservation = reserve_instances(lab, amount=2)
    servers = [lab.boot(lab.projects[0], reservation) for _ in range(3)]
    assert [server.status for server in servers] == ["ACTIVE", "ACTIVE", "ERROR"]
    assert {server.service_host for server in servers[:2]} == {lab.host}
    assert {server.id for server in lab.cloud.servers.with_flavor(reservation)} == {server.id for server in servers}
    lab.remove(servers[0])
    assert lab.boot(lab.projects[0], reservation).status == "ACTIVE"


def test_only_the_reservations_project_may_use_its_flavor(lab: Lab) -> None:
    reservation = reserve_instances(lab, amount=1)
    with pytest.raises(CloudPermanentError):
        lab.boot(lab.projects[1], reservation)
    lab.cloud.flavors.revoke(reservation, lab.projects[0])
    with pytest.raises(CloudPermanentError):
        lab.boot(lab.projects[0], reservation)
    with pytest.raises(CloudPermanentError):
        lab.boot(lab.projects[0], unique("flavor"))


def test_an_inventory_in_use_stays(lab: Lab) -> None:
    reservation = reserve_instances(lab, amount=1)
    child = f"blazar_{lab.hosts()[0].hypervisor_hostname}"
    server = lab.boot(lab.projects[0], reservation)
    with pytest.raises(CloudTransientError):
        lab.cloud.providers.remove_inventory(child, custom_class(reservation))
    lab.remove(server)
    lab.cloud.providers.remove_inventory(child, custom_class(reservation))


def test_a_flavor_may_go_before_its_servers(lab: Lab) -> None:
    reservation = reserve_instances(lab, amount=1)
    server = lab.boot(lab.projects[0], reservation)
    lab.cloud.flavors.delete(reservation)
    assert [found.id for found in lab.cloud.servers.with_flavor(reservation)] == [server.id]


def test_the_servers_of_a_flavor_that_was_put_right_are_still_found(lab: Lab) -> None:
    """Nova gives a recreated flavor another internal number, and then no longer finds servers by the flavor's id."""
    reservation = reserve_instances(lab, amount=1)
    server = lab.boot(lab.projects[0], reservation)
    wanted = private_flavor(reservation)
    lab.cloud.flavors.ensure(replace(wanted, extra_specs={**wanted.extra_specs, "other": "yes"}))
    lab.cloud.flavors.ensure(wanted)
    assert lab.flavor(reservation).extra_specs == wanted.extra_specs
    assert [each.id for each in lab.cloud.servers.with_flavor(reservation)] == [server.id]


def test_placement_capacity_counts(lab: Lab, host_reservation: str) -> None:
    host = lab.hosts()[0]
    memory = lab.cloud.providers.inventories(host.hypervisor_hostname)["MEMORY_MB"].capacity
    flavor = Flavor(unique("flavor"), unique("half"), 1, memory // 2, 1, public=True)
    lab.cloud.flavors.ensure(flavor)

    def fits() -> bool:
        server = lab.boot(lab.projects[0], flavor.id, [host_reservation])
        if server.status != "ACTIVE":
            lab.remove(server)
        return server.status == "ACTIVE"

    # Nova's scheduler hears of the aggregate a moment after Nova has answered.
    wait_for(fits)
    assert [fits(), fits()] == [True, False]
