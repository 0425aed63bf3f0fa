"""Snapshots of servers, which Nova makes and Glance keeps; Nova shows them up to microversion 2.35."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.cloud.openstack.rest import Service

VERSION = "2.35"


class OpenStackImages:
    """Implements `ports.Images`."""

    def __init__(self, nova: Service) -> None:
        self._nova = nova

    def snapshot(self, server_id: str, name: str) -> None:
        """Start an image of the server unless it has one of this name; CloudPermanentError when the server is gone."""
        call = "images.snapshot"
        if name in self._names(call, server_id, name):
            return
        body = {"createImage": {"name": name}}
        self._nova.call(call, "POST", f"/servers/{server_id}/action", VERSION, json=body)

    def of_server(self, server_id: str) -> Sequence[str]:
        """Return the names of the images that were made of a server."""
        return self._names("images.of_server", server_id)

    def _names(self, call: str, server_id: str, name: str | None = None) -> list[str]:
        params = {"server": server_id} | ({"name": name} if name else {})
        return [image["name"] for image in self._nova.pages(call, "/images/detail", "images", VERSION, params)]
