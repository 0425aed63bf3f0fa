"""The requests of Blazar's reservations as typed requests of our resource types."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from leasehold.cloud.ports import LARGEST, Flavor
from leasehold.model.errors import LeaseholdError
from leasehold.model.resource import FLOATING_IP, HOST
from leasehold.resource_types.flavor.kind import FlavorKind, capture
from leasehold.resource_types.floatingip.kind import FloatingIpKind
from leasehold.resource_types.host.kind import HostKind
from leasehold.resource_types.instance.kind import InstanceKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.takeover.rows import (
        BlazarRows,
        FloatingIpReservationRow,
        HostReservationRow,
        InstanceReservationRow,
        ReservationRow,
    )

INSTANCE = InstanceKind.name
FLAVOR = FlavorKind.name
Stored: TypeAlias = dict[str, Any]


class UnreadableError(Exception):
    """A reservation cannot be expressed in our database; the message says why."""


class Requests:
    """The type-specific rows, indexed by reservation."""

    def __init__(self, rows: BlazarRows) -> None:
        self._hosts = {row.reservation_id: row for row in rows.host_reservations}
        self._instances = {row.reservation_id: row for row in rows.instance_reservations}
        self._floating_ips = {row.reservation_id: row for row in rows.floating_ip_reservations}
        self._required: dict[str | None, list[str]] = defaultdict(list)
        for each in rows.required_ips:
            self._required[each.floatingip_reservation_id].append(each.address)
        self._readers: dict[str, tuple[dict[str | None, Any], Callable[[Any], Stored]]] = {
            HOST: (self._hosts, _host),
            INSTANCE: (self._instances, _instance),
            FLAVOR: (self._instances, _flavor),
            FLOATING_IP: (self._floating_ips, self._floating_ip),
        }

    def read(self, row: ReservationRow) -> tuple[Stored, dict[str, Any]]:
        """Return the request of a reservation, and the id of the aggregate that Blazar made for it, if any.

        Raises UnreadableError for an unknown type, a missing row of its type, and invalid values.
        """
        if row.resource_type not in self._readers:
            raise UnreadableError(f"its resource type {row.resource_type!r} is unknown here")
        details, reader = self._readers[row.resource_type]
        found = details.get(row.id)
        if found is None:
            raise UnreadableError(f"the row that says what it asks for, {row.resource_id}, is missing")
        try:
            request = reader(found)
        except LeaseholdError as error:
            raise UnreadableError(f"what it asks for cannot be read: {error.message}") from None
        aggregate = getattr(found, "aggregate_id", None)
        return request, {} if aggregate is None else {"aggregate_id": aggregate}

    def _floating_ip(self, row: FloatingIpReservationRow) -> Stored:
        kind = FloatingIpKind()
        request = kind.parse(
            {
                "network_id": row.network_id,
                "amount": row.amount,
                "required_floatingips": self._required[row.id],
            }
        )
        return kind.store(request)


def _host(row: HostReservationRow) -> Stored:
    least, _, most = (row.count_range or "").partition("-")
    kind = HostKind()
    request = kind.parse(
        {
            "min": least,
            "max": most,
            "hypervisor_properties": row.hypervisor_properties or "",
            "resource_properties": row.resource_properties or "",
            "before_end": "default" if row.before_end is None else row.before_end,
        }
    )
    return kind.store(request)


def _instance(row: InstanceReservationRow) -> Stored:
    kind = InstanceKind()
    request = kind.parse(
        {
            "amount": row.amount,
            "vcpus": row.vcpus,
            "memory_mb": row.memory_mb,
            "disk_gb": row.disk_gb,
            "affinity": row.affinity,
            "resource_properties": row.resource_properties or "",
        }
    )
    return kind.store(replace(request, server_group_id=row.server_group_id or None))


def _flavor(row: InstanceReservationRow) -> Stored:
    """Return the request with the source flavor that Blazar captured; `captured` keeps its JSON text for the API."""
    text = row.resource_properties or ""
    try:
        source = json.loads(text)
        flavor = Flavor(
            id=str(source["id"]),
            name=source["name"],
            vcpus=int(source["vcpus"]),
            memory_mb=int(source["ram"]),
            disk_gb=int(source["disk"]),
            ephemeral_gb=int(source.get("OS-FLV-EXT-DATA:ephemeral") or 0),
            public=bool(source.get("os-flavor-access:is_public")),
            extra_specs={name: str(value) for name, value in (source.get("extra_specs") or {}).items()},
        )
    except (ValueError, OverflowError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableError(f"its source flavor cannot be read ({error!r})") from None
    kind = FlavorKind()
    asked = capture(kind.parse({"flavor_id": flavor.id, "amount": row.amount, "affinity": None}), flavor)
    if max(asked.demand.values(), default=0) > LARGEST:
        raise UnreadableError("its source flavor asks for more than any host has")
    return kind.store(replace(asked, captured=text))
