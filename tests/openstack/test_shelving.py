"""Servers are shelved at the end of their lease, and their owner unshelves them on an ordinary host."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import Person, nothing_left
from tests.openstack.test_two_pools import WITHIN, active, flavor, free, where
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud


WITH_ZONE = "2.77"
"""The first microversion of Nova in which a server is unshelved in another zone."""


@pytest.fixture(scope="module")
def admin(cloud: RunningCloud) -> Iterator[Person]:
    """Yield the administrator of a cloud with a new Leasehold."""
    with running_leasehold(cloud, "shelving"):
        yield Person(cloud, "admin")


@pytest.fixture
def demo(admin: Person) -> Person:
    return Person(admin.cloud, "demo")


def booted_in_zone(person: Person, reservation: str) -> str:
    """Boot a server with the availability zone of a reservation, as v1's clients may, and return its id."""
    image = person.sdk.image.find_image("cirros", ignore_missing=False)
    network = person.sdk.network.find_network(f"{person.name}-net", ignore_missing=False)
    made = person.sdk.compute.create_server(
        name="in-a-zone",
        flavor_id=flavor(person),
        image_id=image.id,
        networks=[{"uuid": network.id}],
        availability_zone=f"blazar_{reservation}",
        scheduler_hints={"reservation": reservation},
    )
    return str(made.id)


def unshelve_in(person: Person, server: str, zone: str) -> None:
    body = {"unshelve": {"availability_zone": zone}}
    answer = person.sdk.compute.post(f"/servers/{server}/action", json=body, microversion=WITH_ZONE)
    assert answer.status_code == 202, answer.text


def test_a_server_is_shelved_at_the_end_and_its_owner_unshelves_it_on_an_ordinary_host(
    admin: Person, demo: Person
) -> None:
    leasable = admin.cloud.computes[0]
    with nothing_left(admin), ExitStack() as undo:
        answer = admin.ask("POST", "/os-hosts", name=leasable, pool="reservation")
        assert answer.status_code == 201, answer.text
        undo.callback(admin.blazar.host.delete, answer.json()["host"]["id"])
        lease = active(demo, before_end="shelve")
        (reservation,) = lease["reservations"]
        server = demo.boot(flavor(demo), reservation["id"])
        undo.callback(wait_for, lambda: server not in demo.servers(), within=WITHIN)
        undo.callback(demo.sdk.compute.delete_server, server)
        assert demo.outcome(server) == "ACTIVE"
        assert where(admin, server) == ("ACTIVE", leasable)
        demo.end(lease)
        assert where(admin, server)[0] == "SHELVED_OFFLOADED"
        assert free(admin) == {leasable}
        (ended,) = demo.ask("GET", f"/leases/{lease['id']}").json()["lease"]["reservations"]
        (result,) = ended["shelved"]
        assert (result["server_id"], result["status"], result["reason"]) == (server, "done", None)
        (image,) = demo.sdk.image.images(owner=demo.sdk.current_project_id, name="end-to-end-shelved")
        assert image.owner == demo.sdk.current_project_id
        demo.sdk.compute.unshelve_server(server)
        wait_for(lambda: where(admin, server)[0] == "ACTIVE", within=WITHIN)
        assert where(admin, server)[1] in set(admin.cloud.computes) - {leasable}
        # Nova removes the image as the owner, whose it is.
        wait_for(lambda: demo.sdk.image.find_image(image.id) is None, within=WITHIN)


def test_a_server_that_was_booted_with_the_zone_of_its_reservation_is_unshelved_in_another(
    admin: Person, demo: Person
) -> None:
    leasable = admin.cloud.computes[0]
    with nothing_left(admin), ExitStack() as undo:
        answer = admin.ask("POST", "/os-hosts", name=leasable, pool="reservation")
        assert answer.status_code == 201, answer.text
        undo.callback(admin.blazar.host.delete, answer.json()["host"]["id"])
        lease = active(demo, before_end="shelve")
        server = booted_in_zone(demo, lease["reservations"][0]["id"])
        undo.callback(wait_for, lambda: server not in demo.servers(), within=WITHIN)
        undo.callback(demo.sdk.compute.delete_server, server)
        assert demo.outcome(server) == "ACTIVE"
        demo.end(lease)
        assert where(admin, server)[0] == "SHELVED_OFFLOADED"
        unshelve_in(demo, server, "nova")
        wait_for(lambda: where(admin, server)[0] == "ACTIVE", within=WITHIN)
        assert where(admin, server)[1] in set(admin.cloud.computes) - {leasable}
