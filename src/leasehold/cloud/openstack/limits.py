"""Keystone's unified limits: what is registered for all projects, and what single ones have in place of that."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Final

from leasehold.cloud.openstack.connections import connect_apart
from leasehold.cloud.openstack.rest import ServiceClient
from leasehold.cloud.ports import CloudTransientError
from leasehold.conf.errors import unusable
from leasehold.conf.keystone import IDENTITY, LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oslo_config import cfg

SECONDS: Final = 5.0
"""For one call: a request waits for it."""
UNLIMITED: Final = -1
_KINDS: Final = (("registered_limits", "default_limit"), ("limits", "resource_limit"))
"""The collections, and the key of the number in each; a limit of the second replaces its default, of the first."""


def open_limits(conf: cfg.ConfigOpts) -> OpenStackLimits | None:
    """Return the limits that the account of `[unified_limits]` sees, None without one, and make no call yet.

    Raises ConfigurationError for an account that would not see those of all projects: Keystone shows it an empty list.
    """
    if not conf[LIMITS].auth_type and not conf[LIMITS].auth_section:
        return None
    connections = connect_apart(conf, LIMITS, IDENTITY)
    section = conf[conf[LIMITS].auth_section or LIMITS]
    if "system_scope" in section and not section.system_scope:
        raise unusable(
            f"[{LIMITS}] system_scope: write all, and give the account the role reader on the system. Keystone shows "
            "others only the limits of their own project."
        )
    return OpenStackLimits(ServiceClient(connections, LIMITS, timeout=SECONDS), conf[LIMITS].region_name)


class OpenStackLimits:
    """Implements `ports.Limits`; with a `region` those of it and those of no region."""

    def __init__(self, keystone: ServiceClient, region: str | None) -> None:
        self._keystone, self._region = keystone, region

    def of(self, project_id: str) -> Mapping[str, int | None]:
        """Return the limits by name: those of the region before others, and of several services the least."""
        found: dict[tuple[Any, ...], float] = {}
        try:
            for kind, number in _KINDS:
                for row in self._rows(kind, project_id):
                    limit = row[number]
                    key = row["resource_name"], row["region_id"], row["service_id"]
                    found[key] = inf if limit == UNLIMITED else int(limit)
        except (TypeError, LookupError, AttributeError, ValueError) as error:
            raise CloudTransientError(f"{LIMITS}: what answers as Keystone is none: {error!r}") from error
        least: dict[str, tuple[bool, float]] = {}
        for (name, region, _), limit in found.items():
            if region is None or self._region in (None, region):
                each = region is None, limit
                least[name] = min(least.get(name, each), each)
        return {name: None if limit == inf else int(limit) for name, (_, limit) in least.items()}

    def _rows(self, kind: str, project_id: str) -> Iterator[Any]:
        call = f"limits.of ({kind})"
        root = "" if self._keystone.root(call).rstrip("/").endswith("/v3") else "/v3"
        query = {} if kind == _KINDS[0][0] else {"project_id": project_id}
        answer = self._keystone.get(call, f"{root}/{kind}", params=query)
        if answer.get("truncated"):
            # As with a `list_limit` of Keystone: what is missing would count as not registered.
            raise CloudTransientError(f"{LIMITS} {call}: Keystone shows only a part of them")
        return (row for row in answer[kind] if not query or row["project_id"] == project_id)
