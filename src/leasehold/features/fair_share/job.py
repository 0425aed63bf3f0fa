"""The job of fair share: one manager at a time counts what was held, if the order of those that wait goes by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leasehold.features.fair_share.options import FairShareSettings
from leasehold.features.fair_share.order import FairShare
from leasehold.features.fair_share.use import count_use
from leasehold.leasing.turn import Job, Turn
from leasehold.resource_types.registry import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

FAIR_SHARE_LOCK: Final = "fair-share"


def jobs(service: Service) -> Sequence[Job]:
    """Count what was held every `[fair_share] refresh_seconds`, with the order `fair_share` alone.

    Raises PluginError for the weight of a type that no package provides.
    """
    for name in service.settings.of(FairShareSettings).weights:
        if service.types.installed(name) is None:
            message = f"[fair_share] weight_by_type names {name!r}, which no package provides: correct the name."
            raise PluginError(message)
    if not isinstance(service.waiting_order, FairShare):
        return []
    every = service.settings.of(FairShareSettings).refresh.total_seconds()
    turn = Turn.of_one_round(service, FAIR_SHARE_LOCK, every)
    return [Job("fair share", every, lambda _: count_use(service), turn)]
