"""Snapshots of servers: Nova creates them, Glance stores them. Nova's API shows them up to microversion 2.35."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import COMPLETE, FAILED, RESERVATION_OF_IMAGE, SAVING, Image

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.openstack.rest import ServiceClient

VERSION = "2.35"
SERVER_OF_IMAGE = "leasehold_server"
"""The metadata key of the server's id: Nova does not name the server of an image that consists of volume snapshots."""

_STATUSES = {"ACTIVE": COMPLETE, "SAVING": SAVING, "ERROR": FAILED, "DELETED": FAILED}


class OpenStackImages:
    """Implements `ports.Images`."""

    def __init__(self, nova: ServiceClient) -> None:
        self._nova = nova

    def snapshot(self, server_id: str, name: str, metadata: Mapping[str, str]) -> None:
        """Start an image of the server, unless one with this metadata exists and has not failed."""
        call = "images.snapshot"
        there = self._of_reservation(call, metadata[RESERVATION_OF_IMAGE])
        if any(each.server_id == server_id and each.metadata == metadata and each.status != FAILED for each in there):
            return
        body = {"createImage": {"name": name, "metadata": {**metadata, SERVER_OF_IMAGE: server_id}}}
        self._nova.call(call, "POST", f"/servers/{server_id}/action", VERSION, json=body)

    def of_reservation(self, reservation_id: str) -> Sequence[Image]:
        """Return the images whose metadata names the reservation, failed ones too."""
        return self._of_reservation("images.of_reservation", reservation_id)

    def _of_reservation(self, call: str, reservation_id: str) -> list[Image]:
        # Nova strips any leading letters of "property-", not the prefix itself, so the key starts with another letter.
        params = {f"property-{RESERVATION_OF_IMAGE}": reservation_id}
        rows = self._nova.pages(call, "/images/detail", "images", VERSION, params)
        return [_read(row) for row in rows if row["metadata"].get(RESERVATION_OF_IMAGE) == reservation_id]


def _read(row: Mapping[str, Any]) -> Image:
    ours = {key: value for key, value in row["metadata"].items() if key.startswith("leasehold_")}
    # A status unknown to Nova, such as that of a deactivated image, must not cause another snapshot.
    status = _STATUSES.get(row["status"], COMPLETE)
    return Image(row["id"], row["name"], ours.pop(SERVER_OF_IMAGE, ""), status, ours)
