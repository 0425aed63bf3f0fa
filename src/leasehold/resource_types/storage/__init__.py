"""`storage:host`: machines that keep volumes, enrolled so that they sleep while they keep none (feature F4)."""

from oslo_config import cfg

from leasehold.resource_types.registry import ResourceType
from leasehold.resource_types.storage.driver import StorageDriver
from leasehold.resource_types.storage.kind import StorageKind


def load(_options: cfg.ConfigOpts) -> ResourceType:
    """Return the resource type."""
    return ResourceType(StorageKind(), StorageDriver())
