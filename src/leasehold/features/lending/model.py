"""What refuses to publish or to lend."""

from __future__ import annotations

from leasehold.model.errors import ConflictError, TooManyError


class TooManyPublishedError(TooManyError):
    """The project has as many published offers that are not over as it may have."""

    code = "leasehold.published_offers.too_many"
    things = "published offers"
    advice = "Delete one that is not over, or ask an operator for more."


class OffersOverlapError(ConflictError):
    """The owner has published the resource for a part of the window already."""

    code = "leasehold.published_offer.overlaps"

    def __init__(self, other: str) -> None:
        message = f"The published offer {other} of this resource overlaps this window. Delete it, or choose another."
        super().__init__(message, field="start_date", details={"published_offer": other})


class SubLeaseLevelError(ConflictError):
    """The lease is a sub-lease, and there is one level of them."""

    code = "leasehold.sublease.level"

    def __init__(self) -> None:
        super().__init__("The lease is a sub-lease, so it cannot be lent on; its lender can lend to others.")


class NotLendableError(ConflictError):
    """The lease lends nothing, or not so much, in its present state."""

    code = "leasehold.sublease.refused"
