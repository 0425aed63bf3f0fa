"""Suspending: a server stops on its host and keeps its place, and its owner lets it run again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import COMPLETE, CloudTransientError
from tests.contract.lab import unique
from tests.processes import wait_for

if TYPE_CHECKING:
    from leasehold.cloud.ports import Server
    from tests.contract.lab import Lab


def now(lab: Lab, server: Server) -> Server:
    (found,) = lab.cloud.servers.with_ids({server.id})
    return found


def suspended(lab: Lab, server: Server) -> None:
    """Suspend a server; return when it is SUSPENDED."""
    lab.cloud.servers.suspend(server.id)
    assert now(lab, server).status in {"SUSPENDING", "SUSPENDED"}
    wait_for(lambda: now(lab, server).status == "SUSPENDED", within=60)


def test_a_server_is_suspended_on_its_host_keeps_its_place_and_runs_again(lab: Lab) -> None:
    server = lab.boot(lab.projects[0], lab.flavor_id, [lab.host_reservation()])
    provider = lab.hosts()[0].hypervisor_hostname
    suspended(lab, server)
    assert now(lab, server) == replace(server, status="SUSPENDED")
    assert server.id in {each.id for each in lab.cloud.servers.on_host(lab.host)}
    assert lab.cloud.providers.claim_rest(provider) == {server.id}
    lab.cloud.providers.release_claims(provider)
    assert lab.resume(server) == server


def test_an_image_is_made_of_a_suspended_server(lab: Lab) -> None:
    project, name = lab.projects[0], unique("reservation")
    server = lab.boot(project, lab.flavor_id)
    suspended(lab, server)
    lab.cloud.images.snapshot(server.id, "copy", project, {"leasehold_reservation": name})
    (image,) = lab.cloud.images.of_reservation(name)
    lab.wait_until_done(server)
    lab.complete(image.id)
    (image,) = lab.cloud.images.of_reservation(name)
    assert (image.server_id, image.status) == (server.id, COMPLETE)


def test_only_what_runs_is_suspended_and_it_may_be_deleted(lab: Lab) -> None:
    server = lab.boot(lab.projects[0], lab.flavor_id)
    suspended(lab, server)
    with pytest.raises(CloudTransientError):
        lab.cloud.servers.suspend(server.id)
    lab.remove(server)
    assert not lab.cloud.servers.with_ids({server.id})


def test_nobody_is_suspended(lab: Lab) -> None:
    lab.cloud.servers.suspend(unique("server"))
