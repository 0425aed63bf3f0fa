"""`flavor:instance`: room for instances of an existing flavor."""

from oslo_config import cfg

from leasehold.resource_types.flavor.driver import FlavorDriver
from leasehold.resource_types.flavor.kind import FlavorKind
from leasehold.resource_types.registry import ResourceType


def load(_options: cfg.ConfigOpts) -> ResourceType:
    """Return the resource type."""
    return ResourceType(FlavorKind(), FlavorDriver())
