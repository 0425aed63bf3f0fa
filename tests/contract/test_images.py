"""Images of servers: their metadata, not their name, identifies the reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from leasehold.cloud.ports import COMPLETE, FAILED, SAVING, CloudPermanentError, CloudTransientError
from tests.contract.lab import unique
from tests.mishaps import fail_upload, take_to_upload

if TYPE_CHECKING:
    from leasehold.cloud.ports import Server
    from leasehold.cloud.sandbox.cloud import SandboxCloud
    from tests.contract.lab import Lab, SandboxLab


def marks(reservation: str, warning: str = "2031-05-01T09:00:00+00:00") -> dict[str, str]:
    return {"leasehold_reservation": reservation, "leasehold_warning": warning}


def test_an_image_is_made_once_for_each_warning_of_a_server(lab: Lab) -> None:
    server, name, reservation = lab.boot(lab.projects[0], lab.flavor_id), unique("image"), unique("reservation")
    again = marks(reservation, "2031-05-01T10:00:00+00:00")
    for metadata in (marks(reservation), marks(reservation), again, again):
        lab.wait_until_done(server)
        lab.cloud.images.snapshot(server.id, name, server.project_id, metadata)
    found = lab.cloud.images.of_reservation(reservation)
    assert {(image.name, image.server_id) for image in found} == {(name, server.id)}
    assert sorted(image.metadata["leasehold_warning"] for image in found) == [
        "2031-05-01T09:00:00+00:00",
        "2031-05-01T10:00:00+00:00",
    ]
    assert {image.status for image in found} <= {SAVING, COMPLETE}
    assert marks(reservation) in [image.metadata for image in found]
    assert not lab.cloud.images.of_reservation(unique("reservation"))


def test_a_server_that_is_gone_has_no_image_made(lab: Lab) -> None:
    server, reservation = lab.boot(lab.projects[0], lab.flavor_id), unique("reservation")
    lab.remove(server)
    with pytest.raises(CloudPermanentError, match=server.id):
        lab.cloud.images.snapshot(server.id, unique("image"), server.project_id, marks(reservation))
    assert not lab.cloud.images.of_reservation(reservation)


def test_a_complete_image_is_handed_over_once_and_for_all(lab: Lab) -> None:
    owner, other = lab.projects
    server, reservation = lab.boot(owner, lab.flavor_id), unique("reservation")
    lab.cloud.images.snapshot(server.id, unique("image"), owner, marks(reservation))
    lab.wait_until_done(server)
    lab.complete(lab.cloud.images.of_reservation(reservation)[0].id)
    (made,) = lab.cloud.images.of_reservation(reservation)
    assert (made.status, made.meant_for, made.is_handed_over) == (COMPLETE, owner, False)
    assert made.project_id not in (owner, other)
    for _ in range(2):
        lab.cloud.images.hand_over(made.id, owner)
    (given,) = lab.cloud.images.of_reservation(reservation)
    assert (given.id, given.project_id, given.is_handed_over) == (made.id, owner, True)
    assert (given.name, given.status, given.server_id, given.metadata) == (
        made.name,
        COMPLETE,
        server.id,
        marks(reservation),
    )
    lab.cloud.images.snapshot(server.id, made.name, owner, marks(reservation))
    assert [image.id for image in lab.cloud.images.of_reservation(reservation)] == [made.id]


def test_an_image_that_is_not_there_is_not_handed_over(lab: Lab) -> None:
    with pytest.raises(CloudPermanentError, match=r"images\.hand_over"):
        lab.cloud.images.hand_over(str(uuid4()), lab.projects[0])


# ---------------------------------------------------------------- sandbox only


@pytest.fixture
def cloud(sandbox_lab: SandboxLab) -> SandboxCloud:
    return sandbox_lab.cloud


@pytest.fixture
def server(cloud: SandboxCloud) -> Server:
    return cloud.servers.boot("web", "demo", "m1.small")


def statuses(cloud: SandboxCloud, reservation: str) -> list[str]:
    return [image.status for image in cloud.images.of_reservation(reservation)]


def test_an_upload_takes_a_while(cloud: SandboxCloud, server: Server) -> None:
    take_to_upload(cloud, 3600)
    for _ in range(2):
        cloud.images.snapshot(server.id, "a", "demo", marks("r"))
    assert statuses(cloud, "r") == [SAVING]


def test_an_image_that_failed_is_made_again(cloud: SandboxCloud, server: Server) -> None:
    cloud.images.snapshot(server.id, "a", "demo", marks("r"))
    fail_upload(cloud, cloud.images.of_reservation("r")[0].id)
    for _ in range(2):
        cloud.images.snapshot(server.id, "a", "demo", marks("r"))
    assert sorted(statuses(cloud, "r")) == [COMPLETE, FAILED]


def test_a_server_takes_its_uploads_with_it(cloud: SandboxCloud, server: Server) -> None:
    cloud.images.snapshot(server.id, "done", "demo", marks("r", "first"))
    take_to_upload(cloud, 3600)
    cloud.images.snapshot(server.id, "uploading", "demo", marks("r", "second"))
    cloud.servers.delete(server.id)
    assert {image.name: image.status for image in cloud.images.of_reservation("r")} == {
        "done": COMPLETE,
        "uploading": FAILED,
    }


def test_a_server_that_is_being_removed_is_not_copied(cloud: SandboxCloud, server: Server) -> None:
    cloud.servers.take_to("delete", 60)
    cloud.servers.delete(server.id)
    with pytest.raises(CloudTransientError, match="DELETING"):
        cloud.images.snapshot(server.id, "a", "demo", marks("r"))
