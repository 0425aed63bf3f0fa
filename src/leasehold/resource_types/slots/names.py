"""The names that link flavors, aggregates, resource classes and providers to a reservation (contract resources §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leasehold.model.reservation import Reservation

RESERVATION_KEY = "reservation"
SERVER_GROUP = "server_group_id"
TENANT_KEY = "filter_tenant_id"
FLAVOR_KEY = "aggregate_instance_extra_specs:reservation"
LONGEST_TENANTS = 255
"""The most characters that Nova keeps under a key of an aggregate, such as TENANT_KEY."""


def resource_class(reservation_id: str) -> str:
    """Return the custom resource class of a reservation."""
    return f"CUSTOM_RESERVATION_{reservation_id.upper().replace('-', '_')}"


def reservation_of(name: str) -> str:
    """Return the reservation of one of its custom resource classes."""
    return name.removeprefix(resource_class("")).lower().replace("_", "-")


def child_provider(hypervisor_hostname: str) -> str:
    """Return the name of the child provider with our inventories of a host."""
    return f"blazar_{hypervisor_hostname}"


def extra_specs(reservation_id: str) -> dict[str, str]:
    """Return the extra specs that link a private flavor to its reservation."""
    return {FLAVOR_KEY: reservation_id, f"resources:{resource_class(reservation_id)}": "1"}


def affinity_key(server_group: str | None) -> dict[str, str]:
    """Return the key that Blazar sets on the flavor and the aggregate of a lease with a server group.

    A lease that was taken over keeps it on both, because Nova matches the flavor with the aggregate by it.
    """
    return {} if server_group is None else {"affinity_id": server_group}


def group_of(reservation: Reservation) -> str | None:
    """Return the server group for users' scheduler hints: Blazar's for a lease taken over, else our own, or None."""
    group: str | None = reservation.request.get(SERVER_GROUP) or reservation.cloud.get(SERVER_GROUP)
    return group


def cloud_names(reservation: Reservation) -> dict[str, Any]:
    """Return the v1 fields with the reservation's flavor, server group and aggregate (contract http-api §5.1)."""
    return {
        "flavor_id": reservation.id,
        "server_group_id": group_of(reservation),
        "aggregate_id": reservation.cloud.get("aggregate_id"),
    }
