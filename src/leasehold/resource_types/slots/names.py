"""The names that tie flavors, aggregates, resource classes and providers to a reservation (contract resources §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leasehold.model.reservation import Reservation

RESERVATION_KEY = "reservation"
SERVER_GROUP = "server_group_id"
TENANT_KEY = "filter_tenant_id"
FLAVOR_KEY = "aggregate_instance_extra_specs:reservation"


def resource_class(reservation_id: str) -> str:
    """Return the custom resource class of a reservation."""
    return f"CUSTOM_RESERVATION_{reservation_id.upper().replace('-', '_')}"


def child_provider(hypervisor_hostname: str) -> str:
    """Return the name of the provider that carries our inventories of a host."""
    return f"blazar_{hypervisor_hostname}"


def extra_specs(reservation_id: str) -> dict[str, str]:
    """Return what ties a private flavor to its reservation."""
    return {FLAVOR_KEY: reservation_id, f"resources:{resource_class(reservation_id)}": "1"}


def affinity_key(server_group: str | None) -> dict[str, str]:
    """Return what Blazar put on the flavor and the aggregate of a lease with a server group.

    A lease that was taken over keeps it: Nova matches the one with the other, so neither may lack it.
    """
    return {} if server_group is None else {"affinity_id": server_group}


def group_of(reservation: Reservation) -> str | None:
    """Return the server group that a user may name as a hint: Blazar's, of a lease taken over, or our own."""
    group: str | None = reservation.request.get(SERVER_GROUP) or reservation.cloud.get(SERVER_GROUP)
    return group


def cloud_names(reservation: Reservation) -> dict[str, Any]:
    """Return the v1 fields that lead a user to the reservation's flavor (contract http-api §5.1)."""
    return {
        "flavor_id": reservation.id,
        "server_group_id": group_of(reservation),
        "aggregate_id": reservation.cloud.get("aggregate_id"),
    }
