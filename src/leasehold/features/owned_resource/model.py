"""What an owner sees of its resources: which leases use them, and nothing else of other projects (decision 0108)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.model.resource import Resource
    from leasehold.model.states import LeaseStatus
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class OwnedUse:
    """That a lease has a resource now or later, and whose the lease is; its name is its project's own."""

    lease_id: str
    project_id: str
    window: Window
    status: LeaseStatus


@dataclass(frozen=True, slots=True)
class OwnedResource:
    """A resource with an owner, and the leases that use it, the first to begin first."""

    resource: Resource
    uses: Sequence[OwnedUse]
