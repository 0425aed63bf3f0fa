"""`physical:host`: whole compute hosts."""

from leasehold.resource_types.host.driver import HostDriver
from leasehold.resource_types.host.kind import HostKind
from leasehold.resource_types.registry import ResourceType


def load() -> ResourceType:
    """Return the resource type."""
    return ResourceType(HostKind(), HostDriver())
