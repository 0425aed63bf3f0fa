"""What a lease is asked to lend, and what refuses to publish, to claim or to lend, and changes of such leases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.errors import ConflictError, TooManyError, some_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.model.terms.notice import Notice
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class LendWish:
    """What of a lease to lend to which project: the `hosts`, by id or reference, or an `amount` of them.

    Exactly one of the two is given. `end` None means the end of the lease, and `reservation_id` None its only
    reservation of hosts. A claim says of which `published_offer` it is, and its holder gets
    the `notice` before what it has is taken back; `dry_run` and `purpose` are as in a `LeaseDraft`.
    """

    name: str
    project_id: str
    end: datetime | None = None
    reservation_id: str | None = None
    hosts: tuple[str, ...] = ()
    amount: int | None = None
    published_offer: str | None = None
    notice: Notice | None = None
    dry_run: bool = False
    purpose: str | None = None


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


class FewerOfferedError(ConflictError):
    """A claim asks for more hosts of a lease than can be claimed of a published offer now."""

    code = "leasehold.published_offer.fewer"

    def __init__(self, free: int) -> None:
        """Say how many can be claimed; the claimer learns nothing else of what the lease has."""
        rest = f"claim {free} or fewer, or try again later" if free else "try again later"
        message = f"{free} of the offered hosts can be claimed now, as the others are lent or in use: {rest}."
        super().__init__(message, field="amount", details={"free": free})


class OutsideOfferError(ConflictError):
    """A lease that was made of a published offer would have a time in which that is not offered."""

    code = "leasehold.published_offer.outside"

    def __init__(self, window: Window | None) -> None:
        """Name the window of the offer; None: it is not available any more."""
        message = "The lease was made of a published offer that is not available any more, so it gets no other time."
        if window is not None:
            message = (
                f"The lease was made of a published offer from {window.start.isoformat()} until "
                f"{window.end.isoformat()}, and has to stay within it."
            )
        super().__init__(message, field="end_date")


class ClaimedError(ConflictError):
    """A lease that was made of a published offer keeps the resource of the offer."""

    code = "leasehold.published_offer.claimed"

    def __init__(self) -> None:
        message = (
            "The lease was made of a published offer, so it keeps that resource and what it asks for. Change its name "
            "or its dates, or delete it."
        )
        super().__init__(message, field="reservations")


class ClaimSharingError(ConflictError):
    """A lease that was made of a published offer is for the projects that the offer is for."""

    code = "leasehold.published_offer.sharing"

    def __init__(self, projects: Sequence[str]) -> None:
        super().__init__(
            f"The lease was made of a published offer that is not open to {some_of(projects)}; leave them out of "
            "`shared_with`, or ask the project that lends it.",
            field="shared_with",
            details={"projects": list(projects)},
        )


class TakenBackError(ConflictError):
    """What a lease has is taken back by who lends it, so the lease does not end later than it was told."""

    code = "leasehold.lease.taken_back"

    def __init__(self, end: datetime) -> None:
        super().__init__(
            f"What the lease has is taken back by who lends it, so it ends at {end.isoformat()} at the latest. Save "
            "what you need by then, or ask for another lease.",
            field="end_date",
        )


class SubLeaseFixedError(ConflictError):
    """A sub-lease has the resources and the start that it was made with, and ends with its lender at the latest."""

    code = "leasehold.sublease.fixed"

    def __init__(self) -> None:
        super().__init__(
            "The lease is a sub-lease: it keeps its hosts, its start and its heal policy, and ends with its lender at "
            "the latest. Change its name or its end, or delete it and have another one made."
        )
