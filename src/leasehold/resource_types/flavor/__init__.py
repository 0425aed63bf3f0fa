"""`flavor:instance`: room for instances of an existing flavor."""

from leasehold.resource_types.flavor.driver import FlavorDriver
from leasehold.resource_types.flavor.kind import FlavorKind
from leasehold.resource_types.registry import ResourceType


def load() -> ResourceType:
    """Return the resource type."""
    return ResourceType(FlavorKind(), FlavorDriver())
