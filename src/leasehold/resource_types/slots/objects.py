"""The cloud objects of slot reservations: aggregates, private flavors and resource classes, and server groups.

An object is ours if it has both a reservation's name and our mark: an aggregate named by the reservation's id, a flavor
of that id with our extra spec. A resource class or a server group has only the name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudConflictError
from leasehold.resource_types.capabilities import Sparing
from leasehold.resource_types.driver import MARK, mark_of
from leasehold.resource_types.look import RESERVATION_ID, CloudObject
from leasehold.resource_types.slots import aggregates
from leasehold.resource_types.slots.names import FLAVOR_KEY, child_provider, reservation_of, resource_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.cloud.ports import Providers
    from leasehold.resource_types.look import Look


FLAVOR, CLASS, GROUP = "flavor", "resource class", "server group"


def remove_class(providers: Providers, name: str) -> None:
    """Remove a resource class and what is left of its inventories; raises CloudTransientError while servers use one.

    A manager that has lost its claim may set an inventory late, on a host that the reservation no longer holds. So all
    hosts are looked at, but only when Placement says that the class has inventories.
    """
    try:
        providers.delete_class(name)
    except CloudConflictError:
        for provider in sorted(providers.names()):
            if provider.startswith(child_provider("")):
                providers.remove_inventory(provider, name)
        providers.delete_class(name)


class SlotObjects(Sparing):
    """Finds and removes what slot reservations have in the cloud."""

    def objects(self, look: Look) -> Iterator[CloudObject]:
        """Yield all objects that have a slot reservation's name and our mark."""
        yield from map(aggregates.as_object, aggregates.of_slots(look))
        for flavor in look.cloud.flavors.list():
            if flavor.extra_specs.get(FLAVOR_KEY) == flavor.id and RESERVATION_ID.fullmatch(flavor.id):
                yield CloudObject(FLAVOR, flavor.id, flavor.id)
        for name in sorted(look.observation.classes):
            ident = reservation_of(name)
            if resource_class(ident) == name and RESERVATION_ID.fullmatch(ident):
                yield CloudObject(CLASS, name, ident)
        for group in look.observation.groups.values():
            ident = group.name.removeprefix(MARK)
            if mark_of(ident) == group.name and RESERVATION_ID.fullmatch(ident):
                yield CloudObject(GROUP, group.id, ident)

    def in_use(self, look: Look, thing: CloudObject) -> bool:
        """Return whether servers use this object."""
        if thing.sort == GROUP:
            return bool(look.observation.groups[thing.key].members)
        if thing.sort == FLAVOR:
            return bool(look.cloud.servers.with_flavor(thing.key))
        return thing.sort == aggregates.AGGREGATE and aggregates.is_used(look, thing.key)

    def remove(self, look: Look, thing: CloudObject) -> None:
        """Remove an object that no server uses."""
        if thing.sort == aggregates.AGGREGATE:
            aggregates.remove_aggregate(look, thing.key)
        elif thing.sort == FLAVOR:
            look.cloud.flavors.delete(thing.key)
        elif thing.sort == CLASS:
            remove_class(look.cloud.providers, thing.key)
        elif look.cloud.server_groups is not None:
            look.cloud.server_groups.delete(thing.key)
