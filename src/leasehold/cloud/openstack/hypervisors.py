"""Nova's compute hosts, with their state and their availability zones.

Up to microversion 2.52 hypervisor ids are numbers, as host ids are in v1 (contract http-api §6).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leasehold.cloud.ports import CloudPermanentError, Hypervisor, ServiceReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.openstack.rest import ServiceClient

VERSION = "2.33"
"""The first microversion with pagination."""
PATH = "/os-hypervisors"
SERVICES = "/os-services"
"""Up to microversion 2.52 a service is named by its host and its binary, which needs no id."""
COMPUTE = "nova-compute"
ENABLED, UP = "enabled", "up"
LONGEST_NUMBER = 9
"""Nova's key holds every number of this many digits; a longer number is not looked up as an id."""


class OpenStackHypervisors:
    """Implements `ports.Hypervisors`."""

    def __init__(self, nova: ServiceClient) -> None:
        self._nova = nova

    def list(self) -> Sequence[Hypervisor]:
        """Return all hypervisors."""
        call = "hypervisors.list"
        zones = self._zones(call)
        rows = self._nova.pages(call, f"{PATH}/detail", "hypervisors", VERSION)
        return [_read(row, zones) for row in rows]

    def find(self, reference: str) -> Hypervisor | None:
        """Return the hypervisor with this id or exact hostname; Nova's own search also matches parts of names.

        Raises CloudPermanentError when another cell has a hypervisor with the same id, and Nova shows that one.
        """
        call = "hypervisors.find"
        named = self._by_name(call, reference)
        number = int(reference) if named is None and _is_number(reference) else named
        if number is None:
            return None
        row = self._nova.get(call, f"{PATH}/{number}", VERSION, none_on=(HTTPStatus.NOT_FOUND,))
        if row is None:
            return None
        found = _read(row["hypervisor"], self._zones(call))
        if named is not None and found.hypervisor_hostname != reference:
            text = f"{reference} and {found.hypervisor_hostname} are in two cells and have one id, {number}"
            raise CloudPermanentError(f"nova {call}: {text}; only one of the two can be used")
        return found

    def disable(self, service_host: str, reason: str) -> None:
        """Disable a compute service that is enabled; raises CloudPermanentError for an unknown one."""
        call = "hypervisors.disable"
        service = self._service(call, service_host)
        if service is None:
            raise CloudPermanentError(f"nova {call}: there is no compute service on {service_host}")
        if service["status"] == ENABLED:
            body = {"host": service_host, "binary": COMPUTE, "disabled_reason": reason}
            self._nova.call(call, "PUT", f"{SERVICES}/disable-log-reason", VERSION, json=body)

    def enable(self, service_host: str, *reasons: str) -> None:
        """Enable a compute service that is disabled with one of these reasons."""
        call = "hypervisors.enable"
        service = self._service(call, service_host)
        if service is not None and service["status"] != ENABLED and service["disabled_reason"] in reasons:
            body = {"host": service_host, "binary": COMPUTE}
            self._nova.call(call, "PUT", f"{SERVICES}/enable", VERSION, json=body)

    def report(self, service_host: str) -> ServiceReport:
        """Return the state of a compute service; Nova lists none that was deleted."""
        service = self._service("hypervisors.report", service_host)
        if service is None:
            return ServiceReport(up=False, at=None)
        at, reason = service["updated_at"], service["disabled_reason"] if service["status"] != ENABLED else None
        return ServiceReport(service["state"] == UP, at and datetime.fromisoformat(at).replace(tzinfo=UTC), reason)

    def _service(self, call: str, service_host: str) -> Mapping[str, Any] | None:
        rows = self._nova.get(call, SERVICES, VERSION, {"host": service_host, "binary": COMPUTE})["services"]
        return next((row for row in rows if row["host"] == service_host), None)

    def _by_name(self, call: str, name: str) -> int | None:
        if not name:
            return None
        path = f"{PATH}/{quote(name, safe='')}/search"
        found = self._nova.get(call, path, VERSION, none_on=(HTTPStatus.NOT_FOUND,))
        rows = found["hypervisors"] if found else ()
        return next((row["id"] for row in rows if row["hypervisor_hostname"] == name), None)

    def _zones(self, call: str) -> dict[str, str]:
        """Return the zone of each service host that runs a nova-compute."""
        listing = self._nova.get(call, "/os-availability-zone/detail", VERSION)
        return {
            host: zone["zoneName"]
            for zone in listing["availabilityZoneInfo"]
            for host, services in (zone["hosts"] or {}).items()
            if COMPUTE in services
        }


def _is_number(reference: str) -> bool:
    return reference.isascii() and reference.isdecimal() and len(reference) <= LONGEST_NUMBER


def _read(row: Mapping[str, Any], zones: Mapping[str, str]) -> Hypervisor:
    host = row["service"]["host"]
    return Hypervisor(
        id=str(row["id"]),
        hypervisor_hostname=row["hypervisor_hostname"],
        service_host=host,
        vcpus=row["vcpus"],
        memory_mb=row["memory_mb"],
        local_gb=row["local_gb"],
        cpu_info=json.dumps(row["cpu_info"]) if row["cpu_info"] else "",
        hypervisor_type=row["hypervisor_type"],
        hypervisor_version=row["hypervisor_version"],
        zone=zones.get(host, ""),
        up=row["state"] == UP,
        enabled=row["status"] == ENABLED,
        disabled_reason=row["service"]["disabled_reason"] if row["status"] != ENABLED else None,
    )
