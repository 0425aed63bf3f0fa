"""Snapshots of servers: Nova creates them, Glance stores them and says whose they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import COMPLETE, FAILED, RESERVATION_OF_IMAGE, SAVING, Image

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.cloud.openstack.rest import ServiceClient

VERSION = "2.35"
SERVER_OF_IMAGE = "leasehold_server"
"""The metadata key of the server's id: Nova does not name the server of an image that consists of volume snapshots."""
PROJECT_OF_IMAGE = "lease_project"
"""The metadata key of the project that the image is meant for. Older versions take whatever begins with `leasehold_`
for what they asked for, and would make another image, so it begins otherwise."""
SERVER_OF_SNAPSHOT = "instance_uuid"
"""The property in which Nova names the server of an image, unless it consists of volume snapshots."""
SHELVED = "-shelved"
"""How Nova's name of the image of a shelved server ends."""
PATCH = "application/openstack-images-v2.1-json-patch"
"""The media type of changes of an image."""

_UPLOADING = frozenset({"queued", "saving", "uploading", "importing"})
_LOST = frozenset({"killed", "deleted", "pending_delete"})


class OpenStackImages:
    """Implements `ports.Images`."""

    def __init__(self, nova: ServiceClient, glance: ServiceClient) -> None:
        self._nova, self._glance = nova, glance

    def snapshot(self, server_id: str, name: str, project_id: str, metadata: Mapping[str, str]) -> None:
        """Start an image of the server, unless one with this metadata exists and has not failed."""
        call = "images.snapshot"
        there = self._of_reservation(call, metadata[RESERVATION_OF_IMAGE])
        if any(each.server_id == server_id and each.metadata == metadata and each.status != FAILED for each in there):
            return
        marks = {**metadata, SERVER_OF_IMAGE: server_id, PROJECT_OF_IMAGE: project_id}
        body = {"createImage": {"name": name, "metadata": marks}}
        self._nova.call(call, "POST", f"/servers/{server_id}/action", VERSION, json=body)

    def of_reservation(self, reservation_id: str) -> Sequence[Image]:
        """Return the images whose metadata names the reservation, failed ones too."""
        return self._of_reservation("images.of_reservation", reservation_id)

    def of_shelved(self, server_id: str) -> Sequence[Image]:
        """Return the images as which Nova keeps a shelved server and that belong to our project, which asked for it.

        Nova names them after the server. Their owner may not delete them, as Nova does after the server is unshelved.
        """
        call = "images.of_shelved"
        wanted = {SERVER_OF_SNAPSHOT: server_id, "owner": self._glance.own_project(call)}
        rows = [row for row in self._pages(call, wanted) if wanted.items() <= row.items()]
        return [replace(_read(row), server_id=server_id) for row in rows if _is_of_shelved(row)]

    def hand_over(self, image_id: str, project_id: str) -> None:
        """Make an image the project's own, which Glance allows administrators only.

        Not before it is complete: the end of an upload writes the image as it was at its beginning, with its owner.
        """
        change = [{"op": "replace", "path": "/owner", "value": project_id}]
        client = replace(self._glance, media_type=PATCH)
        client.call("images.hand_over", "PATCH", f"/images/{image_id}", json=change)

    def _of_reservation(self, call: str, reservation_id: str) -> list[Image]:
        rows = self._pages(call, {RESERVATION_OF_IMAGE: reservation_id})
        return [_read(row) for row in rows if row.get(RESERVATION_OF_IMAGE) == reservation_id]

    def _pages(self, call: str, params: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield images of all projects."""
        return self._glance.pages(call, "/images", "images", params=params)


def _is_of_shelved(row: Mapping[str, Any]) -> bool:
    """Say so of an image that shelving has made, and not `snapshot`, whatever the server's name."""
    return (row["name"] or "").endswith(SHELVED) and SERVER_OF_IMAGE not in row


def _read(row: Mapping[str, Any]) -> Image:
    ours = {key: value for key, value in row.items() if key.startswith("leasehold_")}
    server_id, owner = ours.pop(SERVER_OF_IMAGE, ""), row.get("owner") or ""
    meant_for = row.get(PROJECT_OF_IMAGE, "")
    return Image(row["id"], row["name"] or "", server_id, _status(row["status"]), ours, owner, meant_for)


def _status(word: str) -> str:
    """Return the port's word; a status unknown here, such as `deactivated`, must not cause another snapshot."""
    return SAVING if word in _UPLOADING else FAILED if word in _LOST else COMPLETE
