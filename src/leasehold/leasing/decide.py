"""The decision: which resources each reservation of a lease gets, all or none (design §4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.errors import LeaseholdError, NotEnoughError, NotEnoughFloatingIpsError
from leasehold.model.refusal import Refusal
from leasehold.model.resource import FLOATING_IP
from leasehold.model.windows import Window, from_seconds, to_seconds
from leasehold.resource_types.base import Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.allocation import Pick
    from leasehold.resource_types.base import Request, ResourceType


@dataclass(frozen=True, slots=True)
class Asked:
    """One reservation to decide about: what is asked, and what it holds already.

    `place` is where the client's request speaks of it, such as `reservations[0]`; None where it does not.
    """

    kind: ResourceType
    request: Request
    held: tuple[Pick, ...] = ()
    firm: bool = False
    before: Request | None = None
    place: str | None = None

    def blame(self, error: LeaseholdError) -> LeaseholdError:
        """Return the error with its field placed where the client can find it."""
        return error if self.place is None else error.under(self.place)


def promised_window(start: datetime, end: datetime, now: datetime) -> Window:
    """Return the part of a lease that still lies ahead, to the second.

    v1's "now" is the current minute, so a lease may begin a little in the past; what happened in those seconds, such
    as somebody else's lease that ended, is no reason to refuse it.
    """
    begin = max(start, from_seconds(to_seconds(now)))
    return Window(begin, max(begin, end))


def decide(
    snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], window: Window, length: timedelta, margin: timedelta
) -> list[Sequence[Pick]]:
    """Return the picks of every reservation in a lease of this length, of which `window` lies ahead.

    Each reservation sees the picks of those before it.

    Raises NotEnoughError with the explanation for the first that does not fit, and InvalidInputError for a request
    that cannot be understood; both name the reservation's place in the client's request.
    """
    views = dict(snapshots)
    decided: list[Sequence[Pick]] = []
    for position, part in enumerate(asked):
        pool = part.kind.pool
        search = Search(views[pool], window, length, part.held, part.firm, part.before, margin)
        try:
            outcome = part.kind.allocate(part.request, search)
        except LeaseholdError as error:
            raise part.blame(error) from None
        if isinstance(outcome, Refusal):
            error_type = NotEnoughFloatingIpsError if outcome.resource_type == FLOATING_IP else NotEnoughError
            raise part.blame(error_type(outcome))
        decided.append(outcome)
        if any(later.kind.pool == pool for later in asked[position + 1 :]):
            views[pool] = views[pool].booked(outcome, window)
    return decided
