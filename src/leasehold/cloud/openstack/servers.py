"""Nova's servers, of all projects.

A server that its user has deleted counts while Nova keeps it (`reclaim_instance_interval`): the user can restore it.
Nova shows a server's flavor by id up to microversion 2.46, and since 2.47 by its extra specs instead. A listing needs
both, so it makes a second call when the first one finds servers.

Nova leaves the servers of a cell that does not answer, or not in time, out of a list without an error, unless its
`list_records_by_skipping_down_cells` is false. A host of that cell looks empty, and an empty host is given to the next
lease. So an empty list for a host is believed only if Nova says the same of that host alone, which it reads from the
host's own cell, and fails where it cannot. `os-services` would also tell that a cell does not answer, but at another
moment than the list, and reads the services of all hosts each time. What an end does by flavor needs no such question:
Placement, which is in no cell, keeps the inventory of a reservation while servers use it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from oslo_utils.strutils import bool_from_string

from leasehold.cloud.ports import CloudTransientError, Server

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from leasehold.cloud.openstack.flavors import OpenStackFlavors
    from leasehold.cloud.openstack.rest import ServiceClient

WITH_FLAVOR_ID = "2.46"
WITH_EXTRA_SPECS = "2.47"
WITH_MIGRATION = "2.25"
"""`block_migration` may be `auto`. Before 2.34 Nova looks for a host before it answers, and so can refuse."""
WITH_USE_OF_HOST = "2.42"
"""The last microversion with `os-hosts`, which shows the projects that have servers on a host."""
PATH = "/servers"
HOSTS = "/os-hosts"
SUMS = frozenset({"(total)", "(used_now)", "(used_max)"})
"""What `os-hosts` shows in place of a project, for the whole host."""
HOST = "OS-EXT-SRV-ATTR:host"
TASK = "OS-EXT-STS:task_state"
DELETING = ("deleting", "soft-deleting")
SHELVING = frozenset({"shelving", "shelving_image_pending_upload", "shelving_image_uploading"})
"""What Nova does until a server is SHELVED. It may go on and offload it: a further task of a SHELVED server."""
SUSPENDING = "suspending"
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
        """Return the servers that run on a host, of every project.

        Raises CloudTransientError instead of an empty list that the host's cell does not confirm.
        """
        call = "servers.on_host"
        found = self._on(call, service_host)
        if not found:
            self._confirm_empty(call, service_host)
        return found

    def on_hosts(self, service_hosts: Collection[str]) -> Sequence[Server]:
        """Return the servers that run on any of these hosts, of every project, as far as their cells answer.

        Listing all servers takes two calls per thousand servers in the cloud, whatever the number of hosts.
        """
        call, hosts = "servers.on_hosts", frozenset(service_hosts)
        if len(hosts) <= ONE_BY_ONE:
            return [server for host in sorted(hosts) for server in self._on(call, host)]
        return self._list(call, {}, hosts)

    def with_flavor(self, flavor_id: str) -> Sequence[Server]:
        """Return the servers that were booted with a flavor, of every project, failed ones too.

        Nova finds no servers by a deleted flavor; this method then searches all servers.
        """
        call = "servers.with_flavor"
        found = self._list(call, {"flavor": flavor_id})
        if not found and self._flavors.get(flavor_id) is None:
            found = self._list(call, {})
        return [server for server in found if server.flavor_id == flavor_id]

    def with_ids(self, server_ids: Collection[str]) -> Sequence[Server]:
        """Return those of these servers that exist, also those on no host yet; up to two calls for each."""
        return [found for each in sorted(server_ids) if (found := self._one(each)) is not None]

    def delete(self, server_id: str) -> None:
        """Request the deletion of a server, at once even where Nova would keep it; does nothing when it is gone."""
        self._act("servers.delete", server_id, "forceDelete")

    def migrate(self, server_id: str) -> None:
        """Request a live migration to a host of the scheduler's choice; does nothing when the server is gone."""
        anywhere = {"host": None, "block_migration": "auto"}
        self._act("servers.migrate", server_id, "os-migrateLive", anywhere, WITH_MIGRATION)

    def shelve(self, server_id: str) -> None:
        """Request that a server is shelved; does nothing when it is gone."""
        self._act("servers.shelve", server_id, "shelve")

    def offload(self, server_id: str) -> None:
        """Request that a shelved server leaves its host; does nothing when it is gone."""
        self._act("servers.offload", server_id, "shelveOffload")

    def suspend(self, server_id: str) -> None:
        """Request that a server is suspended; does nothing when it is gone."""
        self._act("servers.suspend", server_id, "suspend")

    def _act(
        self,
        call: str,
        server_id: str,
        action: str,
        how: Mapping[str, Any] | None = None,
        version: str = WITH_FLAVOR_ID,
    ) -> None:
        path, fine = f"{PATH}/{server_id}/action", (HTTPStatus.NOT_FOUND,)
        self._nova.call(call, "POST", path, version, json={action: how}, fine=fine)

    def _one(self, server_id: str) -> Server | None:
        call, path = "servers.with_ids", f"{PATH}/{quote(server_id, safe='')}"
        rows = [
            self._nova.get(call, path, version, none_on=(HTTPStatus.NOT_FOUND,))
            for version in (WITH_FLAVOR_ID, WITH_EXTRA_SPECS)
        ]
        if None in rows or rows[0]["server"]["status"] == "DELETED":
            return None
        return replace(_read(rows[0]["server"]), preemptible=_is_preemptible(rows[1]["server"]))

    def _on(self, call: str, service_host: str) -> list[Server]:
        return self._list(call, {"host": service_host}, frozenset({service_host}))

    def _confirm_empty(self, call: str, service_host: str) -> None:
        """Raise CloudTransientError unless the host's own cell has no server there, or Nova does not know the host."""
        path = f"{HOSTS}/{quote(service_host, safe='')}"
        again = "so it is not known whether the host is empty; it is asked again"
        try:
            shown = self._nova.get(call, path, WITH_USE_OF_HOST, none_on=(HTTPStatus.NOT_FOUND,))
        except CloudTransientError as error:
            text = f"Nova does not answer for the cell of host {service_host}, {again} ({error})"
            raise CloudTransientError(text) from error
        rows = shown["host"] if shown else ()
        if any(row["resource"]["project"] not in SUMS for row in rows):
            text = (
                f"Nova does not list the servers of host {service_host}, although its cell has some; it is asked again"
            )
            raise CloudTransientError(text)

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


def _status(row: Mapping[str, Any]) -> str:
    if row[TASK] in DELETING or row["status"] in DELETED:
        return "DELETING"
    if row[TASK] in SHELVING:
        return "SHELVING"
    return "SUSPENDING" if row[TASK] == SUSPENDING else str(row["status"])


def _read(row: Mapping[str, Any]) -> Server:
    return Server(
        id=row["id"],
        name=row["name"],
        project_id=row["tenant_id"],
        flavor_id=row["flavor"]["id"],
        service_host=row[HOST],
        status=_status(row),
        created_at=datetime.fromisoformat(row["created"]),
    )
