"""Nova's fake hypervisor with a node that is the same one after a restart. Copied into Nova's package `nova.virt`.

Nova's own makes up a new identity for its node at every start, and nova-compute then refuses to work with the node that
it registered the time before.
"""

from __future__ import annotations

import uuid
from typing import Any

from nova.virt import fake


class SteadyDriver(fake.FakeDriver):  # type: ignore[misc]
    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources: dict[str, Any] = super().get_available_resource(nodename)
        # Nothing for a node that is not ours: the base class answers so, and Nova asks.
        if resources:
            resources["uuid"] = _identity(nodename)
        return resources

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:  # noqa: FBT001, FBT002  Nova's signature.
        return {_identity(name): name for name in self.get_available_nodes(refresh)}


def _identity(nodename: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, nodename))
