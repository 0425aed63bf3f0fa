"""What is asked of Glance about images, and what is made of its answers; `tests/contract` asks a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from leasehold.cloud.openstack.images import OpenStackImages
from leasehold.cloud.ports import COMPLETE, FAILED, SAVING, CloudPermanentError, CloudTransientError
from tests.processes import as_text
from tests.unit.cloud.scripted import service

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cloud.scripted import Script

MARKS = {"leasehold_reservation": "r", "leasehold_warning": "w"}


@pytest.fixture
def images(tmp_path: Path, url: str) -> OpenStackImages:
    return OpenStackImages(service(tmp_path, url), service(tmp_path, url, "glance"))


def row(number: str, status: str = "active", **more: Any) -> dict[str, Any]:
    marks = {**MARKS, "leasehold_server": "s", "lease_project": "demo"}
    return {"id": number, "name": "reserved_web", "status": status, "owner": "service", **marks, **more}


@pytest.mark.parametrize(
    ("word", "status"),
    [
        *((word, SAVING) for word in ("queued", "saving", "uploading", "importing")),
        *((word, FAILED) for word in ("killed", "deleted", "pending_delete")),
        *((word, COMPLETE) for word in ("active", "deactivated", "of a later Glance")),
    ],
)
def test_the_status_is_read(images: OpenStackImages, script: Script, word: str, status: str) -> None:
    script.answers = [(200, {"images": [row("i", word)]})]
    (found,) = images.of_reservation("r")
    assert (found.status, found.server_id, found.project_id, found.meant_for) == (status, "s", "service", "demo")
    assert (found.metadata, found.is_handed_over) == (MARKS, False)


def test_all_pages_are_read(images: OpenStackImages, script: Script) -> None:
    script.answers = [(200, {"images": [row("a")], "next": "/v2/images?marker=a"}), (200, {"images": [row("b")]})]
    assert [each.id for each in images.of_reservation("r")] == ["a", "b"]
    queries = [parse_qs(urlsplit(path).query) for _, path, _ in script.asked]
    assert [each["leasehold_reservation"] for each in queries] == [["r"], ["r"]]
    assert [each.get("marker") for each in queries] == [None, ["a"]]


def test_an_image_of_an_older_version_needs_no_handing_over(images: OpenStackImages, script: Script) -> None:
    old = {key: value for key, value in row("i", owner=None).items() if key != "lease_project"}
    script.answers = [(200, {"images": [old, {**old, "leasehold_reservation": "another"}]})]
    (found,) = images.of_reservation("r")
    assert (found.project_id, found.is_handed_over, found.metadata) == ("", True, MARKS)


def test_an_image_is_handed_over_by_a_patch(images: OpenStackImages, script: Script) -> None:
    script.answers = [(200, row("i", owner="demo"))]
    images.hand_over("i", "demo")
    ((method, path, headers),) = script.asked
    assert (method, path) == ("PATCH", "/images/i")
    assert headers["Content-Type"] == "application/openstack-images-v2.1-json-patch"


def test_an_account_that_may_not_hand_over_is_told_so(images: OpenStackImages, script: Script) -> None:
    script.answers = [(403, {"message": "Owner can't be updated by non admin."})]
    with pytest.raises(CloudPermanentError, match=r"glance images\.hand_over: /images/i answered 403: Owner can't"):
        images.hand_over("i", "demo")


def test_without_a_login_it_is_not_known_whose_the_images_of_a_shelved_server_are(tmp_path: Path) -> None:
    file = tmp_path / "leasehold.conf"
    account = {"auth_type": "password", "auth_url": "http://127.0.0.1:1/v3", "username": "us", "password": "p"}
    file.write_text(as_text({"cloud": account}))
    images = openstack_cloud(conf.load(["--config-file", str(file)]).raw).images
    with pytest.raises(CloudTransientError, match=r"glance images\.of_shelved: the service cannot be reached"):
        images.of_shelved("s")
