"""Shelving: a server leaves its host as an image, and its owner brings it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from tests.contract.lab import unique
from tests.processes import wait_for

if TYPE_CHECKING:
    from leasehold.cloud.ports import Server
    from tests.contract.lab import Lab

ON_ITS_WAY = frozenset({"SHELVING", "SHELVED", "SHELVED_OFFLOADED"})


def now(lab: Lab, server: Server) -> Server:
    (found,) = lab.cloud.servers.with_ids({server.id})
    return found


def is_offloaded(lab: Lab, server: Server) -> bool:
    """Say whether the server is on no host any more; clouds may offload it by themselves, and faster."""
    there = now(lab, server)
    assert there.status in ON_ITS_WAY, there
    if there.status == "SHELVED":
        try:
            lab.cloud.servers.offload(server.id)
        except CloudTransientError:
            assert now(lab, server).status in ON_ITS_WAY
    return (there.status, there.service_host) == ("SHELVED_OFFLOADED", None)


def shelved(lab: Lab, server: Server) -> None:
    """Shelve a server; return when it is on no host."""
    lab.cloud.servers.shelve(server.id)
    wait_for(lambda: is_offloaded(lab, server), within=60)


def test_a_server_is_shelved_leaves_its_host_and_comes_back(lab: Lab) -> None:
    project, cloud = lab.projects[0], lab.cloud
    reservation = lab.host_reservation()
    server = lab.boot(project, lab.flavor_id, [reservation])
    provider = lab.hosts()[0].hypervisor_hostname
    assert server.service_host == lab.host
    shelved(lab, server)
    assert server.id not in {each.id for each in cloud.servers.on_host(lab.host)}
    assert cloud.providers.claim_rest(provider) == frozenset()
    cloud.providers.release_claims(provider)
    # A host without servers may leave its zone, and its reservation is over.
    cloud.aggregates.remove_host(reservation, lab.host)
    cloud.aggregates.delete(reservation)
    back = lab.unshelve(server)
    assert (back.status, back.service_host is None, back.project_id) == ("ACTIVE", False, project)


def test_the_image_of_a_shelved_server_is_handed_over_and_goes_when_it_is_unshelved(lab: Lab) -> None:
    project, images = lab.projects[0], lab.cloud.images
    server = lab.boot(project, lab.flavor_id)
    # An image that was made for a reservation is another one, whatever its name.
    marks = {"leasehold_reservation": unique("reservation")}
    images.snapshot(server.id, f"{server.name}-shelved", project, marks)
    lab.wait_until_done(server)
    shelved(lab, server)
    (image,) = images.of_shelved(server.id)
    assert (image.server_id, image.is_handed_over) == (server.id, True)
    assert image.project_id not in lab.projects
    images.hand_over(image.id, project)
    assert not images.of_shelved(server.id)
    lab.unshelve(server)
    with pytest.raises(CloudPermanentError, match=r"images\.hand_over"):
        images.hand_over(image.id, project)


def test_only_what_is_shelved_is_offloaded_and_it_is_not_shelved_twice(lab: Lab) -> None:
    servers = lab.cloud.servers
    server = lab.boot(lab.projects[0], lab.flavor_id)
    with pytest.raises(CloudTransientError):
        servers.offload(server.id)
    shelved(lab, server)
    for verb in (servers.shelve, servers.offload):
        with pytest.raises(CloudTransientError):
            verb(server.id)
    lab.remove(server)
    assert not lab.cloud.images.of_shelved(server.id)


def test_nobody_is_shelved(lab: Lab) -> None:
    lab.cloud.servers.shelve(unique("server"))
    lab.cloud.servers.offload(unique("server"))
    assert not lab.cloud.images.of_shelved(unique("server"))
