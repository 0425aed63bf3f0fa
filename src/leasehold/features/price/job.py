"""The job of prices: leases that ended early are settled, and what is agreed of new budgets is counted once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.price.options import PriceSettings
from leasehold.features.price.use import recount, settle
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

EVERY = 10.0
BUDGET_LOCK = "budgets"


def jobs(service: Service) -> Sequence[Job]:
    """Settle and count, where anything has a price."""
    if service.settings.of(PriceSettings).prices is None:
        return []
    turn = Turn.of_one_round(service, BUDGET_LOCK, EVERY)
    return [Job("budgets", EVERY, lambda _: (settle(service), recount(service)), turn)]
