"""`virtual:instance`: room for instances of one size."""

from oslo_config import cfg

from leasehold.resource_types.instance.driver import InstanceDriver
from leasehold.resource_types.instance.kind import InstanceKind
from leasehold.resource_types.registry import ResourceType


def load(_options: cfg.ConfigOpts) -> ResourceType:
    """Return the resource type."""
    return ResourceType(InstanceKind(), InstanceDriver())
