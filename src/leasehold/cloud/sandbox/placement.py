"""The sandbox's Placement: providers, inventories, resource classes and traits.

What Placement answers with 409 (deleting a class with inventories, an inventory in use, a provider with children) is a
conflict and raises CloudTransientError; unknown providers and classes raise CloudPermanentError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, exists, func, insert, select, update

from leasehold.cloud.ports import CloudConflictError, CloudPermanentError, CloudTransientError, Inventory
from leasehold.cloud.sandbox.claims import claim_rest, claimed, release_claims
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.port import CONSUMED, SCHEDULER, Port, locked
from leasehold.cloud.sandbox.tables import claims, inventories, moves, providers, resource_classes, traits, usages
from leasehold.db.engine import alone, reading, writing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import Connection

CUSTOM = "CUSTOM_"
STANDARD_CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")

FIELDS = tuple(Inventory.__dataclass_fields__)

_ALL_PROVIDERS = select(providers.c.name)
_ALL_CLASSES = select(resource_classes.c.name)
_PROVIDER = select(providers.c.id, providers.c.parent_id).where(providers.c.name == bindparam("provider"))
_INVENTORIES = (
    select(providers.c.id, inventories)
    .outerjoin(inventories, inventories.c.provider_id == providers.c.id)
    .where(providers.c.name == bindparam("provider"))
)
_INVENTORY = select(inventories).where(
    inventories.c.provider_id == bindparam("provider_id"), inventories.c.resource_class == bindparam("class_name")
)
_TRAITS = (
    select(providers.c.id, traits.c.trait)
    .outerjoin(traits, traits.c.provider_id == providers.c.id)
    .where(providers.c.name == bindparam("provider"))
)
_CLASS = select(resource_classes.c.name).where(resource_classes.c.name == bindparam("class_name"))
_CLASS_INVENTORIED = select(exists().where(inventories.c.resource_class == bindparam("class_name")))
_HAS_CHILDREN = select(exists().where(providers.c.parent_id == bindparam("provider_id")))
_IN_USE = select(CONSUMED.c.amount).where(CONSUMED.c.provider_id == bindparam("provider_id"))
_CLASS_IN_USE = _IN_USE.where(CONSUMED.c.resource_class == bindparam("class_name"))
_USED = (
    select(CONSUMED.c.resource_class, func.sum(CONSUMED.c.amount).label("amount"))
    .join(providers, providers.c.id == CONSUMED.c.provider_id)
    .where(providers.c.name == bindparam("provider"))
    .group_by(CONSUMED.c.resource_class)
)
_ADD_PROVIDER = insert(providers)
_ADD_CLASS = insert(resource_classes)
_ADD_INVENTORY = insert(inventories)
_CHANGE_INVENTORY = (
    update(inventories)
    .where(inventories.c.provider_id == bindparam("provider"), inventories.c.resource_class == bindparam("class_name"))
    .values({name: bindparam(f"new_{name}") for name in FIELDS})
)
_REMOVE_INVENTORY = delete(inventories).where(
    inventories.c.provider_id == bindparam("provider_id"), inventories.c.resource_class == bindparam("class_name")
)
_REMOVE_PARTS = tuple(
    delete(table).where(table.c.provider_id == bindparam("provider"))
    for table in (usages, moves, claims, inventories, traits)
)
_REMOVE_PROVIDER = delete(providers).where(providers.c.id == bindparam("provider"))
_REMOVE_CLASS = delete(resource_classes).where(resource_classes.c.name == bindparam("class_name"))


class SandboxProviders(Port):
    """Implements `ports.Providers`."""

    group = "providers"

    @verb
    def names(self) -> frozenset[str]:
        """Return the names of all providers."""
        with reading(self.engine) as connection:
            return frozenset(connection.execute(_ALL_PROVIDERS).scalars())

    @verb
    def classes(self) -> frozenset[str]:
        """Return all resource classes, standard and custom."""
        with reading(self.engine) as connection:
            return frozenset(connection.execute(_ALL_CLASSES).scalars())

    @verb
    def inventories(self, provider: str) -> Mapping[str, Inventory]:
        """Return the provider's inventories by resource class; raises CloudPermanentError when it does not exist."""
        with reading(self.engine) as connection:
            rows = connection.execute(_INVENTORIES, {"provider": provider}).mappings().all()
        if not rows:
            raise CloudPermanentError(f"sandbox providers.inventories: there is no provider {provider}")
        return {
            row["resource_class"]: Inventory(**{name: row[name] for name in FIELDS})
            for row in rows
            if row["resource_class"] is not None
        }

    @verb
    def traits(self, provider: str) -> frozenset[str]:
        """Return the provider's traits; raises CloudPermanentError when it does not exist."""
        with reading(self.engine) as connection:
            rows = connection.execute(_TRAITS, {"provider": provider}).all()
        if not rows:
            raise CloudPermanentError(f"sandbox providers.traits: there is no provider {provider}")
        return frozenset(row.trait for row in rows if row.trait is not None)

    @verb
    def ensure_child(self, parent: str, name: str) -> None:
        """Make sure `name` is a child of `parent`.

        Raises CloudPermanentError when the parent does not exist, or `name` exists with another parent.
        """
        with writing(self.engine) as connection:
            parent_id = self._provider_id(connection, parent, "ensure_child")
            present = connection.execute(_PROVIDER, {"provider": name}).first()
            if present is None:
                connection.execute(_ADD_PROVIDER, {"name": name, "parent_id": parent_id})
            elif present.parent_id != parent_id:
                raise CloudPermanentError(f"sandbox providers.ensure_child: {name} has another parent than {parent}")

    @verb
    def delete(self, name: str) -> None:
        """Delete a provider with its inventories; raises CloudTransientError while it has children or is in use."""
        with writing(self.engine) as connection:
            row = connection.execute(_PROVIDER, {"provider": name}).first()
            if row is None:
                return
            if connection.execute(_HAS_CHILDREN, {"provider_id": row.id}).scalar_one():
                raise CloudTransientError(f"sandbox providers.delete: {name} has child providers")
            if connection.execute(_IN_USE, {"provider_id": row.id, "now": self.clock()}).first() is not None:
                raise CloudTransientError(f"sandbox providers.delete: servers use {name}")
            for remove in (*_REMOVE_PARTS, _REMOVE_PROVIDER):
                connection.execute(remove, {"provider": row.id})

    @verb
    def ensure_class(self, resource_class: str) -> None:
        """Make sure a custom resource class exists; raises CloudPermanentError unless its name starts with CUSTOM_."""
        _check_custom(resource_class, "ensure_class")
        with writing(self.engine) as connection:
            if connection.execute(_CLASS, {"class_name": resource_class}).first() is None:
                connection.execute(_ADD_CLASS, {"name": resource_class})

    @verb
    def delete_class(self, resource_class: str) -> None:
        """Delete a custom resource class; raises CloudConflictError while a provider has an inventory of it."""
        _check_custom(resource_class, "delete_class")
        with writing(self.engine) as connection:
            if connection.execute(_CLASS_INVENTORIED, {"class_name": resource_class}).scalar_one():
                raise CloudConflictError(f"sandbox providers.delete_class: {resource_class} still has inventories")
            connection.execute(_REMOVE_CLASS, {"class_name": resource_class})

    @verb
    def set_inventory(self, provider: str, resource_class: str, inventory: Inventory) -> None:
        """Set the provider's inventory of the class.

        Raises CloudPermanentError for an unknown provider or class. A total below the usage is accepted, as in
        Placement: no new server fits until enough of them are gone.
        """
        fields = {name: getattr(inventory, name) for name in FIELDS}
        with writing(self.engine) as connection:
            provider_id = self._provider_id(connection, provider, "set_inventory")
            key = {"provider_id": provider_id, "class_name": resource_class}
            present = connection.execute(_INVENTORY, key).mappings().first()
            if present is None:
                if connection.execute(_CLASS, {"class_name": resource_class}).first() is None:
                    text = f"sandbox providers.set_inventory: there is no resource class {resource_class}"
                    raise CloudPermanentError(text)
                row = {"provider_id": provider_id, "resource_class": resource_class, **fields}
                connection.execute(_ADD_INVENTORY, row)
            elif any(present[name] != value for name, value in fields.items()):
                changes = {f"new_{name}": value for name, value in fields.items()}
                connection.execute(
                    _CHANGE_INVENTORY, {"provider": provider_id, "class_name": resource_class, **changes}
                )

    @verb
    def remove_inventory(self, provider: str, resource_class: str) -> None:
        """Remove the provider's inventory of the class; raises CloudTransientError while servers use it."""
        with writing(self.engine) as connection:
            row = connection.execute(_PROVIDER, {"provider": provider}).first()
            if row is None:
                return
            key = {"provider_id": row.id, "class_name": resource_class}
            if connection.execute(_CLASS_IN_USE, {**key, "now": self.clock()}).first() is not None:
                raise CloudTransientError(
                    f"sandbox providers.remove_inventory: servers use {resource_class} of {provider}"
                )
            connection.execute(_REMOVE_INVENTORY, key)

    @verb
    def claim_rest(self, provider: str) -> frozenset[str]:
        """Claim all that is left of the provider, and return the servers that use it, boots on their way included."""
        # Of two claims of one provider at the same time the second is refused, or takes no more than the first.
        with locked(self.engine, SCHEDULER, shared=True) as connection:
            return claim_rest(connection, provider, self.clock())

    @verb
    def release_claims(self, provider: str) -> None:
        """Remove our claims from the provider."""
        with alone(self.engine, writes=True) as connection:
            release_claims(connection, provider)

    @verb
    def claimed(self, providers: Collection[str]) -> frozenset[str]:
        """Return those of the providers that have claims of ours."""
        with reading(self.engine) as connection:
            return claimed(connection, providers)

    @verb
    def usages(self, provider: str) -> Mapping[str, int]:
        """Return the current usage of this provider by resource class."""
        with reading(self.engine) as connection:
            rows = connection.execute(_USED, {"provider": provider, "now": self.clock()})
            return {row.resource_class: int(row.amount) for row in rows}

    @staticmethod
    def _provider_id(connection: Connection, name: str, call: str) -> int:
        row = connection.execute(_PROVIDER, {"provider": name}).first()
        if row is None:
            raise CloudPermanentError(f"sandbox providers.{call}: there is no provider {name}")
        return int(row.id)


def _check_custom(resource_class: str, call: str) -> None:
    if not resource_class.startswith(CUSTOM):
        raise CloudPermanentError(f"sandbox providers.{call}: {resource_class} does not start with {CUSTOM}")
