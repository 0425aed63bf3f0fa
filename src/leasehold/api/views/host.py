"""Hosts as v1 shows them (contract http-api §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.api.dates import to_record
from leasehold.api.views.resource import show_disabled, show_pool, show_restricted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.models.host import HostAnswer
    from leasehold.model.resource import Resource


def show_host(host: Resource, *, disabled: bool = False, projects: bool = False) -> HostAnswer:
    """Return the discovered fields of the host and its properties; a field wins over a property of the same name.

    `cpu_info` is JSON text or null, because the dashboard decodes it. `disabled` says that the caller sees that
    flag, and the pool; `projects`, that they see which projects may use it.
    """
    found = host.attributes
    discovered: HostAnswer = {
        "id": host.id,
        "hypervisor_hostname": found.get("hypervisor_hostname"),
        "hypervisor_type": found.get("hypervisor_type"),
        "hypervisor_version": found.get("hypervisor_version"),
        "vcpus": found.get("vcpus"),
        "cpu_info": found.get("cpu_info"),
        "memory_mb": found.get("memory_mb"),
        "local_gb": found.get("local_gb"),
        "service_name": found.get("service_name"),
        "availability_zone": found.get("availability_zone"),
        "reservable": host.reservable,
        "status": None,
        "trust_id": None,
        "created_at": to_record(host.created_at),
        "updated_at": to_record(host.updated_at),
    }
    since_1_2: Mapping[str, object] = {**show_disabled(host), **show_pool(host)} if disabled else {}
    since_1_3: Mapping[str, object] = show_restricted(host) if projects else {}
    return cast("HostAnswer", {**host.properties, **discovered, **since_1_2, **since_1_3})
