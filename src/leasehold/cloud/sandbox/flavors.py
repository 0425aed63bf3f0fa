"""The sandbox's flavors and their access lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Flavor
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.port import Port, with_all
from leasehold.cloud.sandbox.tables import flavor_access, flavors
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, RowMapping

_WITH_ACCESS = select(flavors, flavor_access.c.project_id).outerjoin(flavor_access)
_ALL = _WITH_ACCESS.order_by(flavors.c.id)
_ONE = _WITH_ACCESS.where(flavors.c.id == bindparam("flavor"))
_ROW = select(flavors).where(flavors.c.id == bindparam("flavor"))
_SAME_NAME = select(flavors.c.id).where(flavors.c.name == bindparam("flavor_name"), flavors.c.id != bindparam("flavor"))
_ACCESS = select(flavor_access.c.project_id).where(flavor_access.c.flavor_id == bindparam("flavor"))
_HAS_ACCESS = _ACCESS.where(flavor_access.c.project_id == bindparam("project"))
_ADD = insert(flavors)
_GRANT = insert(flavor_access)
_REVOKE = delete(flavor_access).where(
    flavor_access.c.flavor_id == bindparam("flavor"), flavor_access.c.project_id == bindparam("project")
)
_REVOKE_ALL = delete(flavor_access).where(flavor_access.c.flavor_id == bindparam("flavor"))
_DELETE = delete(flavors).where(flavors.c.id == bindparam("flavor"))
_FIELDS = ("id", "name", "vcpus", "memory_mb", "disk_gb", "ephemeral_gb", "swap_mb", "public", "extra_specs")


class SandboxFlavors(Port):
    """Implements `ports.Flavors`."""

    group = "flavors"

    @verb
    def get(self, flavor_id: str) -> Flavor | None:
        """Return the flavor with extra specs and access list, or None."""
        with reading(self.engine) as connection:
            return find_flavor(connection, flavor_id)

    @verb
    def list(self) -> Sequence[Flavor]:
        """Return all flavors, public and private, by id."""
        with reading(self.engine) as connection:
            return _to_flavors(connection.execute(_ALL).mappings().all())

    @verb
    def ensure(self, flavor: Flavor) -> None:
        """Make sure the flavor exists exactly as given; `flavor.projects` is ignored.

        Nova cannot change a flavor, so a different one with the same id is deleted and recreated, and its access list
        is then empty. Raises CloudTransientError while another flavor has the name.
        """
        wanted = {name: getattr(flavor, name) for name in _FIELDS} | {"extra_specs": dict(flavor.extra_specs)}
        key = {"flavor": flavor.id}
        with writing(self.engine) as connection:
            present = connection.execute(_ROW, key).mappings().first()
            if present is not None and dict(present) == wanted:
                return
            if connection.execute(_SAME_NAME, {**key, "flavor_name": flavor.name}).first() is not None:
                raise CloudTransientError(f"sandbox flavors.ensure: another flavor is named {flavor.name}")
            if present is not None:
                connection.execute(_REVOKE_ALL, key)
                connection.execute(_DELETE, key)
            connection.execute(_ADD, wanted)

    @verb
    def grant(self, flavor_id: str, project_id: str) -> None:
        """Let a project use the private flavor; CloudPermanentError when it is public or does not exist."""
        key = {"flavor": flavor_id, "project": project_id}
        with writing(self.engine) as connection:
            row = connection.execute(_ROW, {"flavor": flavor_id}).first()
            if row is None:
                raise CloudPermanentError(f"sandbox flavors.grant: there is no flavor {flavor_id}")
            if row.public:
                raise CloudPermanentError(f"sandbox flavors.grant: flavor {flavor_id} is public and has no access list")
            if connection.execute(_HAS_ACCESS, key).first() is None:
                connection.execute(_GRANT, {"flavor_id": flavor_id, "project_id": project_id})

    @verb
    def revoke(self, flavor_id: str, project_id: str) -> None:
        """Withdraw the project's access."""
        with writing(self.engine) as connection:
            connection.execute(_REVOKE, {"flavor": flavor_id, "project": project_id})

    @verb
    def delete(self, flavor_id: str) -> None:
        """Delete the flavor; servers that were booted with it stay, as in Nova."""
        with writing(self.engine) as connection:
            connection.execute(_REVOKE_ALL, {"flavor": flavor_id})
            connection.execute(_DELETE, {"flavor": flavor_id})


def find_flavor(connection: Connection, flavor_id: str) -> Flavor | None:
    """Return the flavor as this transaction sees it, or None."""
    found = _to_flavors(connection.execute(_ONE, {"flavor": flavor_id}).mappings().all())
    return found[0] if found else None


def _to_flavors(rows: Sequence[RowMapping]) -> list[Flavor]:
    """Group the joined rows, one per project with access, into flavors."""
    grouped = with_all(rows, "project_id")
    return [Flavor(**{name: row[name] for name in _FIELDS}, projects=projects) for row, projects in grouped]
