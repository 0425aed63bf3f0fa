"""Published offers, as the API shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leasehold.api.models.published_offer import FreeRange, PublishedOfferAnswer
    from leasehold.model.published_offer import PublishedOffer
    from leasehold.model.windows import Window


def show_published(offer: PublishedOffer, now: datetime, *, owner: bool) -> PublishedOfferAnswer:
    """Return an offer; only `owner` says whose it is and of what. Times are in ISO 8601 with the zone."""
    resource, part = offer.resource, offer.part
    return {
        "id": offer.id,
        "name": offer.name,
        "status": offer.status(now).value,
        "resource_type": HOST if part is not None else None if resource is None else resource.type,
        "resource_id": None if resource is None or not owner else resource.id,
        "resource_name": None if resource is None or not owner else resource.label,
        "capacity": dict(resource.capacity if resource else part.capacity if part else {}),
        "lease_id": None if part is None or not owner else part.lease_id,
        "amount": None if part is None else part.amount,
        "left": None if part is None else part.left,
        "project_id": offer.project_id if owner else None,
        "user_id": offer.user_id if owner else None,
        "for_project_id": offer.for_project if owner else None,
        "start_date": offer.window.start.isoformat(),
        "end_date": offer.window.end.isoformat(),
        "created_at": offer.created_at.isoformat(),
    }


def show_free(ranges: Iterable[Window]) -> list[FreeRange]:
    """Return what of an offer can be claimed."""
    return [{"start_date": each.start.isoformat(), "end_date": each.end.isoformat()} for each in ranges]
