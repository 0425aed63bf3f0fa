"""`physical:host`: whole compute hosts."""

from oslo_config import cfg

from leasehold.resource_types.host.driver import HostDriver
from leasehold.resource_types.host.kind import HostKind
from leasehold.resource_types.registry import ResourceType


def load(_options: cfg.ConfigOpts) -> ResourceType:
    """Return the resource type."""
    return ResourceType(HostKind(), HostDriver())
