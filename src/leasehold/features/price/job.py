"""The jobs of prices: leases that ended early are settled, new budgets counted once more, and periods closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.conf.errors import unusable
from leasehold.features.price.closing import close
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.sending import send
from leasehold.features.price.use import recount, settle
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

EVERY = 10.0
CLOSES_EVERY = 60.0
BUDGET_LOCK = "budgets"
CHARGE_LOCK = "charges"
SEND_LOCK = "charges-sent"


def jobs(service: Service) -> Sequence[Job]:
    """Settle, count, charge and send, where anything has a price; raises ConfigurationError."""
    own = service.settings.of(PriceSettings)
    if own.prices is None:
        return []
    turn = Turn.of_one_round(service, BUDGET_LOCK, EVERY)
    charging = Turn.of_one_round(service, CHARGE_LOCK, CLOSES_EVERY)
    found = [
        Job("budgets", EVERY, lambda _: (settle(service), recount(service)), turn),
        Job("charges", CLOSES_EVERY, lambda stopping: close(service, stopping), charging),
    ]
    if own.to_cloudkitty:
        rating = service.cloud.rating
        if rating is None:
            raise unusable("[price] to_cloudkitty: the sandbox has no CloudKitty; set it to false.")
        sending = Turn.of_one_round(service, SEND_LOCK, CLOSES_EVERY)
        found.append(Job("rating", CLOSES_EVERY, lambda stopping: send(service, rating, stopping), sending))
    return found
