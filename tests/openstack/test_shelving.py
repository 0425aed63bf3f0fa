"""Servers are shelved or suspended at the end of their lease, and their owner lets them run again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.openstack_lab import upload
from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import Person, minute, nothing_left
from tests.openstack.test_two_pools import WITHIN, active, flavor, free, where
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def booted_with_hint(person: Person, reservation: str) -> str:
    """Boot a server with the hint of a reservation, and return its id."""
    return person.boot(flavor(person), reservation)


@contextmanager
def leased(
    admin: Person, demo: Person, boot: Callable[[Person, str], str], **asked: Any
) -> Iterator[tuple[Any, str, str]]:
    """Yield an active lease of one host that ends as asked, the name of the host, and a server on it."""
    leasable = admin.cloud.computes[0]
    with nothing_left(admin):
        answer = admin.ask("POST", "/os-hosts", name=leasable, pool="reservation")
        assert answer.status_code == 201, answer.text
        host = answer.json()["host"]["id"]
        try:
            lease = active(demo, **asked)
            server = boot(demo, lease["reservations"][0]["id"])
            try:
                assert demo.outcome(server) == "ACTIVE"
                yield lease, leasable, server
            finally:
                demo.sdk.compute.delete_server(server)
                wait_for(lambda: server not in demo.servers(), within=WITHIN)
        finally:
            admin.blazar.host.delete(host)


def ended(demo: Person, lease: Any) -> Any:
    """Return the one reservation of a lease as it is now."""
    (reservation,) = demo.ask("GET", f"/leases/{lease['id']}").json()["lease"]["reservations"]
    return reservation


def unshelve_in(person: Person, server: str, zone: str) -> None:
    body = {"unshelve": {"availability_zone": zone}}
    answer = person.sdk.compute.post(f"/servers/{server}/action", json=body, microversion=WITH_ZONE)
    assert answer.status_code == 202, answer.text


def test_a_server_is_shelved_at_the_end_and_its_owner_unshelves_it_on_an_ordinary_host(
    admin: Person, demo: Person
) -> None:
    with leased(admin, demo, booted_with_hint, before_end="shelve") as (lease, leasable, server):
        assert where(admin, server) == ("ACTIVE", leasable)
        demo.end(lease)
        assert where(admin, server)[0] == "SHELVED_OFFLOADED"
        assert free(admin) == {leasable}
        (result,) = ended(demo, lease)["shelved"]
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
    with leased(admin, demo, booted_in_zone, before_end="shelve") as (lease, leasable, server):
        demo.end(lease)
        assert where(admin, server)[0] == "SHELVED_OFFLOADED"
        unshelve_in(demo, server, "nova")
        wait_for(lambda: where(admin, server)[0] == "ACTIVE", within=WITHIN)
        assert where(admin, server)[1] in set(admin.cloud.computes) - {leasable}


def test_an_image_of_a_server_is_made_and_then_it_is_suspended_until_its_owner_resumes_it(
    admin: Person, demo: Person
) -> None:
    chain = {"before_end": ["suspend", "snapshot"], "on_end": "recycle", "recycle_seconds": 3600}
    with leased(admin, demo, booted_with_hint, **chain) as (lease, leasable, server):
        assert ended(demo, lease)["before_end"] == ["snapshot", "suspend"]
        # The warning of an hour's lease was done at its start; one that is extended is warned again.
        demo.blazar.lease.update(lease["id"], end_date=minute(hours=3))
        demo.blazar.lease.update(lease["id"], end_date=minute())
        wait_for(lambda: bool(ended(demo, lease)["images"]), within=WITHIN)
        (copied,) = ended(demo, lease)["images"]
        wait_for(lambda: bool(ended(demo, lease)["suspended"]), within=WITHIN)
        (waiting,) = ended(demo, lease)["suspended"]
        assert (copied["status"], waiting["status"]) == ("waiting", "waiting")
        assert where(admin, server) == ("ACTIVE", leasable)
        upload(admin.sdk, copied["image_id"])
        wait_for(lambda: where(admin, server) == ("SUSPENDED", leasable), within=WITHIN)
        wait_for(lambda: ended(demo, lease)["suspended"][0]["status"] == "done", within=WITHIN)
        (copied,) = ended(demo, lease)["images"]
        assert (copied["status"], copied["reason"]) == ("done", None)
        image = demo.sdk.image.find_image(copied["image_id"], ignore_missing=False)
        assert image.owner == demo.sdk.current_project_id
        demo.sdk.compute.resume_server(server)
        wait_for(lambda: where(admin, server) == ("ACTIVE", leasable), within=WITHIN)
        demo.sdk.image.delete_image(image.id)
        demo.sdk.compute.delete_server(server)
        demo.lease_with_status(lease["id"], "TERMINATED", within=WITHIN)
        assert free(admin) == {leasable}
