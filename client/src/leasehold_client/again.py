"""The reservations of a lease as they are asked for again. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leasehold_client.errors import ClientError
from leasehold_client.lease import FLOATING_IP, HOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold_client.lease import Reservation

FLAVOR = "flavor:instance"
_EXPRESSIONS = ("hypervisor_properties", "resource_properties")
_KEYS: Mapping[str, tuple[str, ...]] = {
    HOST: ("min", "max", *_EXPRESSIONS),
    "virtual:instance": ("amount", "vcpus", "memory_mb", "disk_gb", "affinity", "resource_properties"),
    FLAVOR: ("amount", "affinity"),
    FLOATING_IP: ("network_id", "amount", "required_floatingips"),
}
"""What a reservation of each type is asked for with."""
_MAY = ("before_end", "on_end", "grace_seconds", "recycle_seconds", "no_show_seconds", "together", "apart")
"""What it may be asked for with, where it has another value than one that says nothing."""
_NOTHING = (None, 0, "default", "delete")


def again(part: Reservation) -> dict[str, Any]:
    """Return the reservation to ask for that asks for the same; raises ClientError for a type of a plugin."""
    kind, values = part.resource_type, part.values
    if kind not in _KEYS:
        raise ClientError(f"What a reservation of {kind} was asked for with is not known. Write it: --reservation.")
    more = {key: values[key] for key in _MAY if values.get(key) not in _NOTHING}
    if kind == FLAVOR:
        more["flavor_id"] = _flavor(values)
    return {"resource_type": kind, **{key: values[key] for key in _KEYS[kind]}, **more}


def _flavor(values: Mapping[str, Any]) -> str:
    """Return the flavor that was asked for: `flavor_id` is the one that was made from it (contract http-api §5.1)."""
    ident: str = json.loads(values["resource_properties"])["id"]
    return ident
