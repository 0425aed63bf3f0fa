"""The job of budgets: what is agreed of new ones is counted once more, when every process knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.price.options import PriceSettings
from leasehold.features.price.use import recount
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

EVERY = 10.0
BUDGET_LOCK = "budgets"


def jobs(service: Service) -> Sequence[Job]:
    """Count again what is agreed of budgets, where anything has a price."""
    if service.settings.of(PriceSettings).prices is None:
        return []
    turn = Turn.of_one_round(service, BUDGET_LOCK, EVERY)
    return [Job("budgets", EVERY, lambda _: recount(service), turn)]
