"""Cinder's services, and what is on them. All questions are those of an administrator.

With a microversion from 3.31 on Cinder refuses the filters of anybody else, who would see only volumes of one project.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from leasehold.cloud.ports import CloudPermanentError, StorageService

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.cloud.openstack.rest import ServiceClient

VERSION = "3.45"
"""The first microversion that counts what is listed."""
SERVICES = "/os-services"
VOLUME = "cinder-volume"
ENABLED, UP = "enabled", "up"
PATIENCE: Final = 10.0
"""A call may take so many seconds: whoever makes it has compute hosts to wake as well."""
STUCK: Final = timedelta(hours=1)
_MOVING = ({"migration_status": "starting"}, {"migration_status": "migrating"}, {"status": "retyping"})
"""Where a volume goes that is moved is not told before a part of it is there."""


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class OpenStackStorage:
    """Implements `ports.Storage`."""

    def __init__(self, cinder: ServiceClient, clock: Callable[[], datetime] = utc_now) -> None:
        self._cinder, self._clock = replace(cinder, timeout=PATIENCE), clock

    def list(self, host: str | None = None) -> Sequence[StorageService]:
        """Return the services on a host, or on all."""
        return self._list("storage.list", host)

    def disable(self, service: str, reason: str) -> None:
        """Disable a volume service that is enabled; raises CloudPermanentError for an unknown one."""
        call = "storage.disable"
        found = self._find(call, service)
        if found is None:
            raise CloudPermanentError(f"cinder {call}: there is no volume service {service}")
        if found.enabled:
            body = {"host": service, "binary": VOLUME, "disabled_reason": reason}
            self._cinder.call(call, "PUT", f"{SERVICES}/disable-log-reason", VERSION, json=body)

    def enable(self, service: str, *reasons: str) -> None:
        """Enable a volume service, and look whether it is: Cinder 28.0 and 29.0 say so, and do nothing."""
        call = "storage.enable"
        found = self._find(call, service)
        if found is None or found.enabled or found.disabled_reason not in reasons:
            return
        self._cinder.call(call, "PUT", f"{SERVICES}/enable", VERSION, json={"host": service, "binary": VOLUME})
        found = self._find(call, service)
        if found is not None and not found.enabled:
            text = f"cinder {call}: {service} is still disabled, although Cinder has said that it is enabled"
            raise CloudPermanentError(f"{text}; update Cinder (28.0.0 and 29.0.0 cannot enable a service)")

    def held(self, host: str) -> Mapping[str, int]:
        """Count what is on a host; groups are found by their service."""
        call = "storage.held"
        groups = [
            len(self._all(call, "groups", {"host": each.name})) for each in self._list(call, host) if each.keeps_volumes
        ]
        counted = {name: self._count(call, name, {"host": host}) for name in ("volumes", "snapshots")}
        return {**counted, "groups": sum(groups)}

    def unplaced(self) -> int:
        """Count the volumes and groups that are being created without a place, and the volumes that are moved."""
        call, creating = "storage.unplaced", {"status": "creating"}
        volumes = self._all(call, "volumes", creating)
        fresh = [each for each in volumes if each["os-vol-host-attr:host"] is None and self._is_fresh(each)]
        # The service of a group is not shown.
        groups = [each for each in self._all(call, "groups", creating) if self._is_fresh(each)]
        return len(fresh) + len(groups) + sum(self._count(call, "volumes", query) for query in _MOVING)

    def _is_fresh(self, row: Mapping[str, Any]) -> bool:
        return self._clock() - _moment(row.get("updated_at") or row["created_at"]) < STUCK

    def _find(self, call: str, service: str) -> StorageService | None:
        found = self._list(call, service)
        return next((each for each in found if each.name == service and each.keeps_volumes), None)

    def _list(self, call: str, host: str | None) -> Sequence[StorageService]:
        query = {} if host is None else {"host": host}
        return [_read(row) for row in self._cinder.get(call, SERVICES, VERSION, query)["services"]]

    def _count(self, call: str, what: str, query: Mapping[str, str]) -> int:
        asked = {"all_tenants": "1", "limit": "1", "with_count": "true", **query}
        return int(self._cinder.get(call, f"/{what}", VERSION, asked)["count"])

    def _all(self, call: str, what: str, query: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        return [*self._cinder.pages(call, f"/{what}/detail", what, VERSION, {"all_tenants": "1", **query})]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _read(row: Mapping[str, Any]) -> StorageService:
    enabled, at = row["status"] == ENABLED, row["updated_at"]
    return StorageService(
        name=row["host"],
        binary=row["binary"],
        keeps_volumes=row["binary"] == VOLUME,
        zone=row["zone"] or "",
        up=row["state"] == UP,
        at=at and _moment(at),
        enabled=enabled,
        disabled_reason=None if enabled else row["disabled_reason"],
        cluster=row["cluster"],
    )
