"""The jobs of prices: leases that ended early are settled, new budgets counted once more, and periods closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.price.closing import close
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.use import recount, settle
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

EVERY = 10.0
CLOSES_EVERY = 60.0
BUDGET_LOCK = "budgets"
CHARGE_LOCK = "charges"


def jobs(service: Service) -> Sequence[Job]:
    """Settle, count and charge, where anything has a price."""
    if service.settings.of(PriceSettings).prices is None:
        return []
    turn = Turn.of_one_round(service, BUDGET_LOCK, EVERY)
    charging = Turn.of_one_round(service, CHARGE_LOCK, CLOSES_EVERY)
    return [
        Job("budgets", EVERY, lambda _: (settle(service), recount(service)), turn),
        Job("charges", CLOSES_EVERY, lambda stopping: close(service, stopping), charging),
    ]
