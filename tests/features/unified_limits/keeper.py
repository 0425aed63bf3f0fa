"""Limits and quotas of a cloud in memory, as its ports have them, and services that use them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudTransientError
from leasehold.enforcement.base import Added, load_filters
from leasehold.enforcement.outside import OnFailure, Outside
from leasehold.features.unified_limits.enforcement import PREFIX, given

if TYPE_CHECKING:
    from leasehold.conf.settings import LeaseSettings
    from leasehold.enforcement.given import Given
    from tests.factory import World

CACHED = 60


@dataclass
class Keeper:
    """Implements `ports.Limits`: registered limits, those of projects, and a clock for what is kept of them."""

    registered: dict[str, int] = field(default_factory=dict)
    own: dict[tuple[str, str], int] = field(default_factory=dict)
    away: bool = False
    seconds: float = 0.0
    asked: int = 0

    def of(self, project_id: str) -> dict[str, int | None]:
        self.asked += 1
        if self.away:
            raise CloudTransientError("keystone limits.of: the service cannot be reached")
        found = self.registered | {name: most for (project, name), most in self.own.items() if project == project_id}
        return {PREFIX + name: None if most < 0 else most for name, most in found.items()}

    def outside(self, on_failure: OnFailure = OnFailure.REFUSE) -> Outside[Given]:
        longest = timedelta(seconds=CACHED)
        read: Any = lambda project: given(self, project)  # noqa: E731 - it is short, and has the type of its use
        return Outside("The limits of the project", read, longest, on_failure, lambda: self.seconds)

    def limits(
        self, world: World, leases: LeaseSettings | None = None, on_failure: OnFailure = OnFailure.REFUSE
    ) -> World:
        """Return the world as a new process opens it, with these limits beside the configured ones."""
        return self.of_world(world.with_settings(leases=leases or world.service.settings.leases), on_failure)

    def of_world(self, world: World, on_failure: OnFailure = OnFailure.REFUSE) -> World:
        """Return the world with these limits, on the same calendars."""
        outside = self.outside(on_failure)
        enforcement = load_filters(world.service.settings.leases, [Added(outside, given=outside.of)])
        return replace(world, service=replace(world.service, enforcement=enforcement))
