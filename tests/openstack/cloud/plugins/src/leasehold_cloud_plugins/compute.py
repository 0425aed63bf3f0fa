"""Nova's fake hypervisor with a node that keeps its identity across restarts. Copied into Nova's package `nova.virt`.

Nova's own driver gives its node a new identity at every start, and nova-compute then refuses to work with the node that
it registered at an earlier start.
"""

from __future__ import annotations

import uuid
from typing import Any

from nova.virt import fake


class SteadyDriver(fake.FakeDriver):  # type: ignore[misc]
    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources: dict[str, Any] = super().get_available_resource(nodename)
        # Nova also asks for nodes that are not ours; the base class returns nothing for them.
        if resources:
            resources["uuid"] = _identity(nodename)
        return resources

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:  # noqa: FBT001, FBT002  Nova's signature.
        return {_identity(name): name for name in self.get_available_nodes(refresh)}


def _identity(nodename: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, nodename))
