"""`virtual:floatingip`: public addresses of a network."""

from oslo_config import cfg

from leasehold.resource_types.floatingip.driver import FloatingIpDriver
from leasehold.resource_types.floatingip.kind import FloatingIpKind
from leasehold.resource_types.registry import ResourceType


def load(_options: cfg.ConfigOpts) -> ResourceType:
    """Return the resource type."""
    return ResourceType(FloatingIpKind(), FloatingIpDriver())
