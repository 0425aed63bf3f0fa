"""Nova's flavors and their access lists."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Flavor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.openstack.rest import ServiceClient

VERSION = "2.61"
"""The first microversion that shows extra specs with a flavor."""
PATH = "/flavors"
EPHEMERAL = "OS-FLV-EXT-DATA:ephemeral"
PUBLIC = "os-flavor-access:is_public"


class OpenStackFlavors:
    """Implements `ports.Flavors`."""

    def __init__(self, nova: ServiceClient) -> None:
        self._nova = nova

    def get(self, flavor_id: str) -> Flavor | None:
        """Return the flavor with extra specs and access list, or None."""
        return self._find("flavors.get", flavor_id)

    def list(self) -> Sequence[Flavor]:
        """Return all flavors, public and private."""
        call = "flavors.list"
        rows = self._nova.pages(call, f"{PATH}/detail", "flavors", VERSION, {"is_public": "None"})
        return [self._with_access(call, _read(row)) for row in rows]

    def ensure(self, flavor: Flavor) -> None:
        """Make sure the flavor exists exactly as given; `flavor.projects` is ignored.

        Nova can change only a flavor's extra specs, so a different flavor with the same id is deleted and recreated.
        Its access list is then empty, and Nova no longer finds older servers by it. Raises CloudTransientError while
        another flavor has the name.
        """
        call = "flavors.ensure"
        there = self._alone(call, flavor.id)
        if there is not None and replace(there, projects=flavor.projects, extra_specs=flavor.extra_specs) == flavor:
            self._put_specs_right(call, there, flavor)
            return
        if there is not None:
            self.delete(flavor.id)
        response = self._nova.call(call, "POST", PATH, VERSION, json=_body(flavor), fine=(HTTPStatus.CONFLICT,))
        if response.status_code == HTTPStatus.CONFLICT:
            text = f"nova {call}: another flavor has the name {flavor.name} or the id {flavor.id}"
            raise CloudTransientError(text)
        self._add_specs(call, flavor.id, flavor.extra_specs)

    def grant(self, flavor_id: str, project_id: str) -> None:
        """Let a project use the private flavor; CloudPermanentError when it is public or does not exist."""
        call = "flavors.grant"
        status = self._act(call, flavor_id, "addTenantAccess", project_id, HTTPStatus.CONFLICT)
        # The project has it already, or there is no access list.
        flavor = self._alone(call, flavor_id) if status == HTTPStatus.CONFLICT else None
        if flavor is not None and flavor.public:
            raise CloudPermanentError(f"nova {call}: flavor {flavor_id} is public and has no access list")

    def revoke(self, flavor_id: str, project_id: str) -> None:
        """Withdraw the project's access."""
        self._act("flavors.revoke", flavor_id, "removeTenantAccess", project_id, HTTPStatus.NOT_FOUND)

    def delete(self, flavor_id: str) -> None:
        """Delete the flavor; servers that were booted with it stay."""
        self._nova.call("flavors.delete", "DELETE", _path(flavor_id), VERSION, fine=(HTTPStatus.NOT_FOUND,))

    def _put_specs_right(self, call: str, there: Flavor, wanted: Flavor) -> None:
        for key in sorted(there.extra_specs.keys() - wanted.extra_specs.keys()):
            path = f"{_path(wanted.id)}/os-extra_specs/{quote(key, safe='')}"
            self._nova.call(call, "DELETE", path, VERSION, fine=(HTTPStatus.NOT_FOUND,))
        self._add_specs(call, wanted.id, dict(wanted.extra_specs.items() - there.extra_specs.items()))

    def _add_specs(self, call: str, flavor_id: str, specs: Mapping[str, str]) -> None:
        if specs:
            body = {"extra_specs": dict(specs)}
            self._nova.call(call, "POST", f"{_path(flavor_id)}/os-extra_specs", VERSION, json=body)

    def _find(self, call: str, flavor_id: str) -> Flavor | None:
        found = self._alone(call, flavor_id)
        return None if found is None else self._with_access(call, found)

    def _alone(self, call: str, flavor_id: str) -> Flavor | None:
        """Return the flavor without its access list."""
        found = self._nova.get(call, _path(flavor_id), VERSION, none_on=(HTTPStatus.NOT_FOUND,))
        # An id that a user sends, such as "detail" or "..", may lead to another resource of Nova, without a flavor.
        row = found.get("flavor") if found else None
        return None if row is None else _read(row)

    def _with_access(self, call: str, flavor: Flavor) -> Flavor:
        if flavor.public:
            return flavor
        path = f"{_path(flavor.id)}/os-flavor-access"
        found = self._nova.get(call, path, VERSION, none_on=(HTTPStatus.NOT_FOUND,))
        rows = found["flavor_access"] if found else ()
        return replace(flavor, projects=frozenset(row["tenant_id"] for row in rows))

    def _act(self, call: str, flavor_id: str, action: str, project_id: str, fine: int) -> int:
        path, body = f"{_path(flavor_id)}/action", {action: {"tenant": project_id}}
        return self._nova.call(call, "POST", path, VERSION, json=body, fine=(fine,)).status_code


def _path(flavor_id: str) -> str:
    return f"{PATH}/{quote(flavor_id, safe='')}"


def _body(flavor: Flavor) -> dict[str, Any]:
    return {
        "flavor": {
            "id": flavor.id,
            "name": flavor.name,
            "vcpus": flavor.vcpus,
            "ram": flavor.memory_mb,
            "disk": flavor.disk_gb,
            EPHEMERAL: flavor.ephemeral_gb,
            "swap": flavor.swap_mb,
            PUBLIC: flavor.public,
        }
    }


def _read(row: Mapping[str, Any]) -> Flavor:
    return Flavor(
        id=row["id"],
        name=row["name"],
        vcpus=row["vcpus"],
        memory_mb=row["ram"],
        disk_gb=row["disk"],
        ephemeral_gb=row[EPHEMERAL],
        swap_mb=int(row["swap"] or 0),  # Before microversion 2.75, "" means no swap.
        public=row[PUBLIC],
        extra_specs=row["extra_specs"],
    )
