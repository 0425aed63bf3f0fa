"""Nova's server groups. One is seen and used only from the project of its maker, so users make theirs themselves."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.cloud.openstack.rest import Service

VERSION = "2.64"
"""One policy for each group since then."""
PATH = "/os-server-groups"


class OpenStackServerGroups:
    """Implements `ports.ServerGroups`."""

    def __init__(self, nova: Service) -> None:
        self._nova = nova

    def create(self, name: str, *, together: bool, token: str) -> str:
        """Make a group as the user of the token, in the project that it is for, and return its id."""
        body = {"server_group": {"name": name, "policy": "affinity" if together else "anti-affinity"}}
        response = self._nova.as_user(token).call("server_groups.create", "POST", PATH, VERSION, json=body)
        return str(response.json()["server_group"]["id"])

    def delete(self, group_id: str) -> None:
        """Remove a group of any project."""
        self._nova.call("server_groups.delete", "DELETE", f"{PATH}/{group_id}", VERSION, fine=(HTTPStatus.NOT_FOUND,))
