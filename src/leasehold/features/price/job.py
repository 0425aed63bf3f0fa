"""The jobs of prices: budgets are settled, counted and told of, leases beyond them ended, and periods charged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.conf.errors import unusable
from leasehold.features.price.closing import close
from leasehold.features.price.ending import end_beyond
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.sending import send
from leasehold.features.price.use import recount, settle
from leasehold.features.price.warning import warn
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from leasehold.leasing.service import Service

EVERY = 10.0
CLOSES_EVERY = 60.0
BUDGET_LOCK = "budgets"
CHARGE_LOCK = "charges"
SEND_LOCK = "charges-sent"
BEYOND_EVERY = 60.0
BEYOND_LOCK = "budgets-beyond"


def jobs(service: Service) -> Sequence[Job]:
    """Do it where anything has a price; raises ConfigurationError."""
    own = service.settings.of(PriceSettings)
    if own.prices is None:
        return []

    def count(_: Event) -> None:
        """What leases that ended early give back comes first, so that nothing is told of what is agreed no more."""
        settle(service)
        recount(service)
        warn(service)

    found = [
        Job("budgets", EVERY, count, Turn.of_one_round(service, BUDGET_LOCK, EVERY)),
        Job(
            "leases beyond budgets",
            BEYOND_EVERY,
            lambda _: end_beyond(service),
            Turn.of_one_round(service, BEYOND_LOCK, BEYOND_EVERY),
        ),
        Job(
            "charges",
            CLOSES_EVERY,
            lambda stopping: close(service, stopping),
            Turn.of_one_round(service, CHARGE_LOCK, CLOSES_EVERY),
        ),
    ]
    if own.to_cloudkitty:
        rating = service.cloud.rating
        if rating is None:
            raise unusable("[price] to_cloudkitty: the sandbox has no CloudKitty; set it to false.")
        sending = Turn.of_one_round(service, SEND_LOCK, CLOSES_EVERY)
        found.append(Job("rating", CLOSES_EVERY, lambda stopping: send(service, rating, stopping), sending))
    return found
