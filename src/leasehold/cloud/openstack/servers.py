"""Nova's servers, of all projects.

A server that its user has deleted counts while Nova keeps it (`reclaim_instance_interval`): the user can restore it.
Nova shows a server's flavor by id up to microversion 2.46, and since 2.47 by its extra specs instead. A listing needs
both, so it makes a second call when the first one finds servers.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from oslo_utils.strutils import bool_from_string

from leasehold.cloud.ports import Server

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from leasehold.cloud.openstack.flavors import OpenStackFlavors
    from leasehold.cloud.openstack.rest import ServiceClient

WITH_FLAVOR_ID = "2.46"
WITH_EXTRA_SPECS = "2.47"
PATH = "/servers"
HOST = "OS-EXT-SRV-ATTR:host"
TASK = "OS-EXT-STS:task_state"
DELETING = ("deleting", "soft-deleting")
DELETED = ("DELETED", "SOFT_DELETED")
PREEMPTIBLE = "blazar:preemptible"
ONE_BY_ONE = 10
"""Nova filters by one host only. For more hosts than this, one listing of all servers is cheaper."""


class OpenStackServers:
    """Implements `ports.Servers`."""

    def __init__(self, nova: ServiceClient, flavors: OpenStackFlavors) -> None:
        self._nova = nova
        self._flavors = flavors

    def on_host(self, service_host: str) -> Sequence[Server]:
        """Return the servers that run on a host, of every project."""
        call = "servers.on_host"
        return self._list(call, {"host": service_host}, frozenset({service_host}))

    def on_hosts(self, service_hosts: Collection[str]) -> Sequence[Server]:
        """Return the servers that run on any of these hosts, of every project.

        Listing all servers takes two calls per thousand servers in the cloud, whatever the number of hosts.
        """
        hosts = frozenset(service_hosts)
        if len(hosts) <= ONE_BY_ONE:
            return [server for host in sorted(hosts) for server in self.on_host(host)]
        return self._list("servers.on_hosts", {}, hosts)

    def with_flavor(self, flavor_id: str) -> Sequence[Server]:
        """Return the servers that were booted with a flavor, of every project, failed ones too.

        Nova finds no servers by a deleted flavor; this method then searches all servers.
        """
        call = "servers.with_flavor"
        found = self._list(call, {"flavor": flavor_id})
        if not found and self._flavors.get(flavor_id) is None:
            found = self._list(call, {})
        return [server for server in found if server.flavor_id == flavor_id]

    def delete(self, server_id: str) -> None:
        """Request the deletion of a server, at once even where Nova would keep it; does nothing when it is gone."""
        self._nova.call(
            "servers.delete",
            "POST",
            f"{PATH}/{server_id}/action",
            WITH_FLAVOR_ID,
            json={"forceDelete": None},
            fine=(HTTPStatus.NOT_FOUND,),
        )

    def _list(self, call: str, filters: Mapping[str, str], hosts: Collection[str] | None = None) -> list[Server]:
        """Return the listed servers that are on these hosts; the other rows of a page are dropped, to save memory."""
        rows = self._pages(call, filters, WITH_FLAVOR_ID)
        found = {row["id"]: _read(row) for row in rows if hosts is None or row[HOST] in hosts}
        for row in self._pages(call, filters, WITH_EXTRA_SPECS) if found else ():
            if row["id"] in found and _is_preemptible(row):
                found[row["id"]] = replace(found[row["id"]], preemptible=True)
        return list(found.values())

    def _pages(self, call: str, filters: Mapping[str, str], version: str) -> Iterator[Any]:
        everybodys = {"all_tenants": "1", "deleted": "False", "soft_deleted": "True"}
        return self._nova.pages(call, f"{PATH}/detail", "servers", version, {**everybodys, **filters})


def _is_preemptible(row: Mapping[str, Any]) -> bool:
    return bool_from_string(row["flavor"].get("extra_specs", {}).get(PREEMPTIBLE, ""))


def _read(row: Mapping[str, Any]) -> Server:
    return Server(
        id=row["id"],
        name=row["name"],
        project_id=row["tenant_id"],
        flavor_id=row["flavor"]["id"],
        service_host=row[HOST],
        status="DELETING" if row[TASK] in DELETING or row["status"] in DELETED else row["status"],
        created_at=datetime.fromisoformat(row["created"]),
    )
