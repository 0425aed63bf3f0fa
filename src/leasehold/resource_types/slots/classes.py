"""Remove the resource class of a slot reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudConflictError
from leasehold.resource_types.slots.names import child_provider

if TYPE_CHECKING:
    from leasehold.cloud.ports import Providers


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
