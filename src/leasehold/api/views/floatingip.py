"""Floating IPs as v1 shows them (contract http-api §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.api.dates import to_record, to_wire_or_none
from leasehold.api.views.resource import show_disabled, show_restricted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.models.floatingip import FloatingIpAnswer
    from leasehold.model.resource import Resource


def show_floating_ip(address: Resource, *, disabled: bool = False, projects: bool = False) -> FloatingIpAnswer:
    """Return the floating IP, with its dates in the format of records; `disabled` says that the caller sees that.

    `projects` says that they see which projects may use it.
    """
    shown: FloatingIpAnswer = {
        "id": address.id,
        "floating_network_id": address.attributes["floating_network_id"],
        "subnet_id": address.attributes["subnet_id"],
        "floating_ip_address": address.attributes["floating_ip_address"],
        "reservable": address.reservable,
        "created_at": to_record(address.created_at),
        "updated_at": to_record(address.updated_at),
    }
    flag: Mapping[str, object] = show_disabled(address) if disabled else {}
    restriction: Mapping[str, object] = show_restricted(address) if projects else {}
    return cast("FloatingIpAnswer", {**shown, **flag, **restriction})


def show_new_floating_ip(address: Resource, *, disabled: bool = False, projects: bool = False) -> FloatingIpAnswer:
    """Return the floating IP for the answer to POST, where dates have the other format (contract http-api §4)."""
    return {
        **show_floating_ip(address, disabled=disabled, projects=projects),
        "created_at": to_wire_or_none(address.created_at),
        "updated_at": to_wire_or_none(address.updated_at),
    }
