"""The decision: which resources each reservation of a lease gets, all or none (design §4)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.refusal import Refusal
from leasehold.model.windows import Window, from_seconds, to_seconds
from leasehold.resource_types.kind import Explain, Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.allocation import Pick
    from leasehold.model.budget import Budget
    from leasehold.resource_types.kind import Kind


@dataclass(frozen=True, slots=True)
class Asked:
    """One reservation to decide about: what is asked, and what it holds already.

    `firm` means that all it holds is in use; `touched`, that some of it may be, because a start failed half-way.
    `leaving` is what it no longer holds, but has not given back when the window begins.
    `place` is where the client's request speaks of it, such as `reservations[0]`; None where it does not.
    `hidden` are private properties that the caller may not ask about.
    """

    kind: Kind[Any]
    request: Any
    held: tuple[Pick, ...] = ()
    leaving: tuple[Pick, ...] = ()
    firm: bool = False
    touched: bool = False
    before: Any = None
    place: str | None = None
    hidden: frozenset[str] = frozenset()

    @property
    def stored(self) -> dict[str, Any]:
        """The request as the database keeps it."""
        return self.kind.store(self.request)

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


@dataclass(frozen=True, slots=True)
class Terms:
    """When the resources are wanted: `window` is what lies ahead of a lease of this `length`, with a cleaning `margin`.

    The decision ends with TakesTooLongError when the `budget` is spent. `explain` is for refusals.
    """

    window: Window
    length: timedelta
    margin: timedelta
    budget: Budget
    explain: Explain = Explain.AMOUNTS


def decide(snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms) -> list[Sequence[Pick]]:
    """Return the picks of every reservation of a lease.

    Each reservation sees the picks of those before it, and none gets what another one has in use. What the others hold
    without using it is left to them as well, unless the lease does not fit otherwise.

    Raises RefusedError for the first that does not fit, and InvalidInputError for a request that cannot be understood,
    which names the reservation's place in the client's request.
    """
    decision = _Decision(snapshots, asked, terms)
    if any(part.held and not part.firm for part in asked[1:]):
        with suppress(LeaseholdError, RefusedError):
            return decision.made(considerate=True)
    return decision.made(considerate=False)


class RefusedError(Exception):
    """A lease does not fit: which of its reservations is refused, and what could be had of its pool instead."""

    def __init__(self, position: int, refusal: Refusal) -> None:
        """Keep the reservation's position in the lease."""
        super().__init__(refusal.sentence)
        self.position = position
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class _Decision:
    """One lease to decide about, which may take more than one try."""

    snapshots: Mapping[str, Snapshot]
    asked: Sequence[Asked]
    terms: Terms

    def made(self, *, considerate: bool) -> list[Sequence[Pick]]:
        """Return the picks of all; with `considerate`, first leave the others what they hold unused."""
        views = dict(self.snapshots)
        decided: list[Sequence[Pick]] = []
        for position, part in enumerate(self.asked):
            self.terms.budget.check()
            pool = part.kind.pool
            picks = self._considerate_picks(position, views[pool]) if considerate else None
            picks = self._picks(position, views[pool]) if picks is None else picks
            decided.append(picks)
            if any(later.kind.pool == pool for later in self.asked[position + 1 :]):
                kept = {pick.resource_number for pick in picks}
                given_up = [pick for pick in part.held if part.touched and pick.resource_number not in kept]
                views[pool] = views[pool].booked((*picks, *given_up, *part.leaving), self.terms.window)
        return decided

    def _considerate_picks(self, position: int, view: Snapshot) -> Sequence[Pick] | None:
        with suppress(LeaseholdError, RefusedError):
            return self._picks(position, view.booked(self._held_after(position, used=False), self.terms.window))
        return None

    def _picks(self, position: int, view: Snapshot) -> Sequence[Pick]:
        part = self.asked[position]
        view = view.booked(self._held_after(position, used=True), self.terms.window)
        outcome = allocate(part, view, self.terms)
        if isinstance(outcome, Refusal):
            raise RefusedError(position, outcome)
        return outcome

    def _held_after(self, position: int, *, used: bool) -> list[Pick]:
        """Return what those have that are decided later: what the cloud may hold for them, or the rest."""
        pool = self.asked[position].kind.pool
        found: list[Pick] = []
        for part in self.asked[position + 1 :]:
            if part.kind.pool == pool:
                found += part.held if (part.firm or part.touched) is used else ()
                found += part.leaving if used else ()
        return found


def allocate(part: Asked, view: Snapshot, terms: Terms) -> Sequence[Pick] | Refusal:
    """Return what a plugin says about one reservation alone; raises its error with the reservation's place."""
    search = Search(
        view,
        terms.window,
        terms.length,
        part.held,
        part.firm,
        part.before,
        terms.margin,
        terms.explain,
        terms.budget.check,
        part.hidden,
    )
    try:
        return part.kind.allocate(part.request, search)
    except TakesTooLongError:
        raise
    except LeaseholdError as error:
        raise part.blame(error) from None
