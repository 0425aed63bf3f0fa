"""Contract clients §1.3: tempest's scenario tests on the sandbox, with a clock that the tests set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.v1.world import HOST, INSTANCE, event

if TYPE_CHECKING:
    from tests.v1.world import World


def host_lease(world: World, **changes: Any) -> tuple[dict[str, Any], str, str]:
    """Lease the first host and let the lease start; return the lease, the reservation id and the service host."""
    host = world.get("/os-hosts")["hosts"][0]
    expression = json.dumps(["==", "$hypervisor_hostname", host["hypervisor_hostname"]])
    lease = world.lease({**HOST, "hypervisor_properties": expression}, **changes)
    (reservation,) = lease["reservations"]
    world.wait(seconds=1)
    return lease, reservation["id"], host["service_name"]


def instance_lease(world: World, **changes: Any) -> tuple[dict[str, Any], str]:
    lease = world.lease(INSTANCE, **changes)
    world.wait(seconds=1)
    assert world.show(lease)["status"] == "ACTIVE"
    return lease, lease["reservations"][0]["id"]


# ---------------------------------------------------------------- whole hosts


def test_clients_1_3_service_hosts_are_in_the_freepool(full: World) -> None:
    """Every registered host is in the aggregate freepool under the name of its service host."""
    services = {host["service_name"] for host in full.get("/os-hosts")["hosts"]}
    assert full.hosts_of("freepool") == services == {host.service_host for host in full.cloud.hypervisors.list()}


def test_clients_1_3_host_reservation(full: World) -> None:
    """A host lease from now on has an aggregate and admits only servers with the hint; its delete removes both."""
    lease, reservation, service_host = host_lease(full)
    assert full.hosts_of(reservation) == {service_host}
    assert service_host not in full.hosts_of("freepool")
    server = full.boot("m1.small", reservation)
    assert (server.status, server.service_host) == ("ACTIVE", service_host)
    assert full.ask("DELETE", f"/leases/{lease['id']}").status_code == 204
    full.wait(seconds=30)
    assert full.cloud.servers.find(server.id) == []
    assert full.boot("m1.small").status == "ERROR"
    assert full.ask("GET", f"/leases/{lease['id']}").status_code == 404


def test_clients_1_3_host_reservation_hint_boots_nowhere_else(full: World) -> None:
    """The hint of another project's reservation, or of an ended one, gives access to no host."""
    lease, reservation, _ = host_lease(full)
    assert full.boot("m1.small", reservation, project="alt").status == "ERROR"
    full.ask("DELETE", f"/leases/{lease['id']}")
    full.wait(seconds=30)
    assert full.boot("m1.small", reservation).status == "ERROR"


def test_clients_1_3_lease_expiration_of_a_host(full: World) -> None:
    """A lease of 90 seconds ends by itself: servers and aggregate are gone, and the host is in the freepool."""
    lease, reservation, service_host = host_lease(full, end_date=full.date(seconds=90))
    server = full.boot("m1.small", reservation)
    full.wait(seconds=120)
    ended = full.show(lease)
    assert event(ended, "end_lease")["status"] == "DONE"
    assert full.cloud.servers.find(server.id) == []
    assert full.cloud.aggregates.get(reservation) is None
    assert service_host in full.hosts_of("freepool")
    assert [each["status"] for each in ended["reservations"]] == ["deleted"]


@pytest.mark.parametrize("seconds_into_the_minute", [0, 1, 40, 59])
def test_clients_1_3_update_host_reservation(full: World, seconds_into_the_minute: int) -> None:
    """A PUT with an end at the current minute ends an active lease soon; the lease stays readable."""
    full.set_second(seconds_into_the_minute)
    lease, reservation, service_host = host_lease(full)
    server = full.boot("m1.small", reservation)
    full.wait(seconds=75)
    answer = full.ask("PUT", f"/leases/{lease['id']}", {"end_date": full.date(seconds=30)})
    assert answer.status_code == 200, answer.text
    full.wait(seconds=60)
    ended = full.show(lease)
    assert full.cloud.servers.find(server.id) == []
    assert full.cloud.aggregates.get(reservation) is None
    assert service_host in full.hosts_of("freepool")
    assert [each["status"] for each in ended["reservations"]] == ["deleted"]
    assert event(ended, "end_lease")["status"] == "DONE"


def test_clients_1_3_the_current_minute_is_a_legal_end(full: World) -> None:
    """An update may set the end of an active lease to the current minute, although that is not later than now."""
    lease, reservation, _ = host_lease(full)
    full.wait(seconds=75)
    answer = full.ask("PUT", f"/leases/{lease['id']}", {"end_date": full.date()})
    assert answer.status_code == 200, answer.text
    full.wait(seconds=1)
    assert full.show(lease)["status"] == "TERMINATED"
    assert full.cloud.aggregates.get(reservation) is None


# ---------------------------------------------------------------- instances


def test_clients_1_3_instance_reservation(full: World) -> None:
    """One instance with the flavor of the reservation boots, a second does not, nor does an ordinary one."""
    lease, reservation = instance_lease(full)
    assert lease["reservations"][0]["flavor_id"] == reservation
    first = full.boot(reservation)
    assert first.status == "ACTIVE"
    assert full.boot(reservation).status == "ERROR"
    assert full.boot("m1.small").status == "ERROR"
    assert full.ask("DELETE", f"/leases/{lease['id']}").status_code == 204
    full.wait(seconds=30)
    assert full.cloud.servers.find(first.id) == []
    assert full.cloud.flavors.get(reservation) is None


def test_clients_1_3_lease_expiration_of_an_instance(full: World) -> None:
    """A lease of 90 seconds becomes TERMINATED; its reservation is `deleted` and its server is gone."""
    lease, reservation = instance_lease(full, end_date=full.date(seconds=90))
    server = full.boot(reservation)
    full.wait(seconds=120)
    ended = full.show(lease)
    assert (ended["status"], ended["reservations"][0]["status"]) == ("TERMINATED", "deleted")
    assert full.cloud.servers.find(server.id) == []


def test_clients_1_3_update_instance_reservation(full: World) -> None:
    """After a PUT of an end in one minute, the lease is TERMINATED: server gone, event DONE, reservation `deleted`."""
    lease, reservation = instance_lease(full)
    server = full.boot(reservation)
    answer = full.ask("PUT", f"/leases/{lease['id']}", {"end_date": full.date(minutes=1)})
    assert answer.status_code == 200, answer.text
    full.wait(seconds=90)
    ended = full.show(lease)
    assert (ended["status"], ended["reservations"][0]["status"]) == ("TERMINATED", "deleted")
    assert event(ended, "end_lease")["status"] == "DONE"
    assert full.cloud.servers.find(server.id) == []


def test_clients_1_3_flavor_instance_reservation(full: World) -> None:
    """A flavor reservation: its own flavor boots once, nothing else does, and the delete removes the server."""
    asked = {"resource_type": "flavor:instance", "flavor_id": "m1.small", "amount": 1, "affinity": None}
    lease = full.lease({**asked, "resource_properties": ""})
    full.wait(seconds=1)
    assert full.show(lease)["status"] == "ACTIVE"
    reservation = lease["reservations"][0]["id"]
    first = full.boot(reservation)
    assert first.status == "ACTIVE"
    assert full.boot(reservation).status == "ERROR"
    assert full.boot("m1.small").status == "ERROR"
    full.ask("DELETE", f"/leases/{lease['id']}")
    full.wait(seconds=30)
    assert full.cloud.servers.find(first.id) == []


# ---------------------------------------------------------------- timing


def test_clients_1_3_timing(full: World) -> None:
    """A lease from now is ACTIVE and its host in the aggregate well within 40 s; its end is done well within 300 s."""
    lease, reservation, service_host = host_lease(full, end_date=full.date(minutes=2))
    assert full.show(lease)["status"] == "ACTIVE"
    assert service_host in full.hosts_of(reservation)
    full.wait(minutes=1, seconds=50)
    assert event(full.show(lease), "end_lease")["status"] == "DONE"
