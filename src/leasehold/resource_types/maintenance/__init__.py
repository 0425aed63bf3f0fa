"""`maintenance:host`: hosts that an operator takes out of service for a time (decision 0044)."""

from oslo_config import cfg

from leasehold.resource_types.maintenance.driver import MaintenanceDriver
from leasehold.resource_types.maintenance.kind import MaintenanceKind
from leasehold.resource_types.registry import ResourceType


def load(_options: cfg.ConfigOpts) -> ResourceType:
    """Return the resource type."""
    return ResourceType(MaintenanceKind(), MaintenanceDriver())
