"""What managers do for subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.subscription.deliverer import Deliverer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service


def jobs(service: Service) -> Sequence[Deliverer]:
    """Deliver events to those who subscribed to them."""
    return [Deliverer(service)]
