"""Nova's server groups. A group is visible and usable only in its creator's project, so the user's token creates it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from leasehold.cloud.openstack.rest import PAGE
from leasehold.cloud.ports import ServerGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.cloud.openstack.rest import ServiceClient

VERSION = "2.64"
"""The first microversion with exactly one policy per group."""
PATH = "/os-server-groups"


class OpenStackServerGroups:
    """Implements `ports.ServerGroups`."""

    def __init__(self, nova: ServiceClient) -> None:
        self._nova = nova

    def list(self) -> Sequence[ServerGroup]:
        """Return the groups of all projects. Nova pages by offset and does not mark the last page."""
        groups: dict[str, ServerGroup] = {}
        seen = -1
        while len(groups) > seen:
            seen = len(groups)
            query = {"all_projects": "True", "limit": PAGE, "offset": seen}
            for each in self._nova.get("server_groups.list", PATH, VERSION, query)["server_groups"]:
                groups[each["id"]] = ServerGroup(each["id"], each["name"], frozenset(each["members"]))
        return list(groups.values())

    def create(self, name: str, *, together: bool, token: str) -> str:
        """Create a group as the user of the token, in that user's project, and return its id."""
        body = {"server_group": {"name": name, "policy": "affinity" if together else "anti-affinity"}}
        response = self._nova.as_user(token).call("server_groups.create", "POST", PATH, VERSION, json=body)
        return str(response.json()["server_group"]["id"])

    def delete(self, group_id: str) -> None:
        """Delete a group of any project."""
        self._nova.call("server_groups.delete", "DELETE", f"{PATH}/{group_id}", VERSION, fine=(HTTPStatus.NOT_FOUND,))
