"""Decide which resources each reservation of a lease gets: all reservations or none (design §4)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leasehold.leasing.deciding.default_properties import preferred
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.refusal import Refusal
from leasehold.model.terms.ending import DELETED_AT_ONCE, Ending
from leasehold.model.terms.lead import NO_LEAD, Lead
from leasehold.model.windows import Window, from_seconds, to_seconds
from leasehold.resource_types.kind import Explain, Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.allocation import Pick
    from leasehold.model.budget import Budget
    from leasehold.model.lease import Lease
    from leasehold.model.terms.default_properties import DefaultProperties
    from leasehold.model.terms.margins import Margins
    from leasehold.model.terms.no_show import NoShow
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceTypes


@dataclass(frozen=True, slots=True)
class Asked:
    """One reservation to decide: its request, and the picks that it already holds.

    `firm` means that all it holds is in use; `touched`, that some of it may be, because a start failed half-way.
    `leaving` are picks that it no longer holds, but has not released when the window begins.
    `place` is its path in the client's request, such as `reservations[0]`; None if the request does not mention it.
    `hidden` are the private properties that the caller may not use. `ending` says for how long it holds its picks after
    the end of the lease; `no_show` is kept for it, and decides nothing. `default` are properties that operators prefer.
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
    ending: Ending = DELETED_AT_ONCE
    no_show: NoShow | None = None
    default: DefaultProperties | None = None

    @property
    def stored(self) -> dict[str, Any]:
        """The request as the database keeps it."""
        return self.kind.store(self.request)

    def takes(self, picks: Sequence[Pick]) -> Sequence[Pick]:
        """Return all that it takes when it gets these picks: also what it gives up and may still have in use."""
        kept = {pick.resource_number for pick in picks}
        given_up = [pick for pick in self.held if self.touched and pick.resource_number not in kept]
        return (*picks, *given_up, *self.leaving)

    def blame(self, error: LeaseholdError) -> LeaseholdError:
        """Return the error with its field prefixed by the reservation's path in the client's request."""
        return error if self.place is None else error.under(self.place)


def promised_window(start: datetime, end: datetime, now: datetime) -> Window:
    """Return the part of a lease's window that still lies ahead, in whole seconds.

    v1's "now" is the current minute, so a lease may begin a little in the past. Those seconds are not allocated, so
    another lease that ended in them is no reason for a refusal.
    """
    begin = max(start, from_seconds(to_seconds(now)))
    return Window(begin, max(begin, end))


def seen_by_project(snapshots: Mapping[str, Snapshot], project_id: str) -> dict[str, Snapshot]:
    """Return the pools as a project may use them: without what is for others."""
    return {pool: view.for_project(project_id) for pool, view in snapshots.items()}


def seen_by_users(types: ResourceTypes, snapshots: Mapping[str, Snapshot], lease: Lease) -> dict[str, Snapshot]:
    """Return the pools as a lease may use them: without what is closed to its project or to one it is shared with."""
    return {pool: view.for_project(*types.projects_of(lease, pool)) for pool, view in snapshots.items()}


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a decision: `window` is what lies ahead of a lease of this `length`, `margins` the cleaning times.

    The decision raises TakesTooLongError when the `budget` is spent. `explain` says how much a refusal has to explain.
    With `use_disabled` a reservation that does not fit otherwise may have disabled resources. `shared` are, by
    resource type, the numbers of shared resources that its reservations may have that do not fit otherwise, to see what
    draws would do.
    Before the window the resources are reserved for the `lead` as well.
    """

    window: Window
    length: timedelta
    margins: Margins
    budget: Budget
    explain: Explain = Explain.AMOUNTS
    use_disabled: bool = False
    shared: Mapping[str, frozenset[int]] = field(default_factory=dict)
    lead: Lead = NO_LEAD

    @property
    def reserved(self) -> Window:
        """The window with the lead before it: from when on the resources have to be free."""
        return self.lead.reserved(self.window)

    def held(self, ending: Ending) -> Window:
        """Return from when to when a reservation that ends so holds its resources."""
        return ending.held(self.reserved)


def decide(snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms) -> list[Sequence[Pick]]:
    """Return the picks of every reservation of a lease.

    The reservations are decided in order: the picks of the earlier ones are taken. None gets what another one has in
    use. None gets what another one holds unused either, unless the lease does not fit otherwise. A lease that is
    refused because of what default properties made a reservation take is decided without any.

    Raises RefusedError for the first reservation that does not fit, and InvalidInputError, with the reservation's path
    in the client's request, for an invalid request.
    """
    if len(asked) > 1 and any(part.default is not None for part in asked):
        try:
            return _decided(snapshots, asked, terms)
        except TakesTooLongError:
            raise
        except (LeaseholdError, RefusedError):
            asked = [replace(part, default=None) for part in asked]
    return _decided(snapshots, asked, terms)


def _decided(snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms) -> list[Sequence[Pick]]:
    decision = _Decision(snapshots, asked, terms)
    if any(part.held and not part.firm for part in asked[1:]):
        with suppress(LeaseholdError, RefusedError):
            return decision.made(considerate=True)
    return decision.made(considerate=False)


def booked(
    snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], picks: Sequence[Sequence[Pick]], terms: Terms
) -> dict[str, Snapshot]:
    """Return the pools after a decision, with what it gave to each reservation."""
    views = dict(snapshots)
    for part, taken in zip(asked, picks, strict=True):
        pool = part.kind.pool
        views[pool] = views[pool].booked(part.takes(taken), terms.held(part.ending))
    return views


class RefusedError(Exception):
    """A lease does not fit: the position of the refused reservation, and the refusal, with what its pool could give."""

    def __init__(self, position: int, refusal: Refusal) -> None:
        super().__init__(refusal.sentence)
        self.position, self.refusal = position, refusal


@dataclass(frozen=True, slots=True)
class _Decision:
    """The decision about one lease, which may take two tries."""

    snapshots: Mapping[str, Snapshot]
    asked: Sequence[Asked]
    terms: Terms

    def made(self, *, considerate: bool) -> list[Sequence[Pick]]:
        """Return the picks of all; with `considerate`, first avoid what other reservations hold but do not use."""
        views = dict(self.snapshots)
        decided: list[Sequence[Pick]] = []
        for position, part in enumerate(self.asked):
            self.terms.budget.check()
            pool = part.kind.pool
            picks = self._considerate_picks(position, views[pool]) if considerate else None
            picks = self._picks(position, views[pool]) if picks is None else picks
            decided.append(picks)
            if any(later.kind.pool == pool for later in self.asked[position + 1 :]):
                views[pool] = views[pool].booked(part.takes(picks), self.terms.held(part.ending))
        return decided

    def _considerate_picks(self, position: int, view: Snapshot) -> Sequence[Pick] | None:
        with suppress(LeaseholdError, RefusedError):
            return self._picks(position, self._without_held_after(position, view, used=False))
        return None

    def _picks(self, position: int, view: Snapshot) -> Sequence[Pick]:
        part = self.asked[position]
        view = self._without_held_after(position, view, used=True)
        outcome = allocate(part, view, self.terms)
        if isinstance(outcome, Refusal):
            raise RefusedError(position, outcome)
        return outcome

    def _without_held_after(self, position: int, view: Snapshot, *, used: bool) -> Snapshot:
        """Return the view without what reservations hold that are decided later: what may be in use, or what is not."""
        pool = self.asked[position].kind.pool
        for part in self.asked[position + 1 :]:
            if part.kind.pool == pool:
                found = part.held if (part.firm or part.touched) is used else ()
                taken = (*found, *part.leaving) if used else found
                view = view.booked(taken, self.terms.held(part.ending))
        return view


def allocate(part: Asked, view: Snapshot, terms: Terms) -> Sequence[Pick] | Refusal:
    """Return a plugin's decision about one reservation alone; raises its error with the reservation's path.

    What has its default properties comes first, if that is enough. No disabled resource is given and no shared one is
    drawn for them, and a refusal explains the decision without them.

    Disabled resources are offered in a second try, where the terms allow it: so nobody gets one by accident. Shared
    ones are offered after that.
    """
    picks = None if part.default is None else _preferred(part, part.default, view, terms)
    outcome = _allocated(part, view, terms) if picks is None else picks
    if isinstance(outcome, Refusal) and terms.use_disabled and view.eligible.any_disabled:
        view = view.among(view.eligible.with_disabled())
        outcome = _allocated(part, view, terms)
    shared = terms.shared.get(part.kind.name)
    if isinstance(outcome, Refusal) and shared:
        return _allocated(part, view.among(view.eligible.with_shared(shared)), terms)
    return outcome


def _preferred(part: Asked, default: DefaultProperties, view: Snapshot, terms: Terms) -> Sequence[Pick] | None:
    """Return what a reservation gets with its default properties; None if that is not enough."""
    try:
        narrow = preferred(view, default, terms.budget.check)
        outcome = _allocated(part, narrow, replace(terms, explain=Explain.NOTHING))
    except TakesTooLongError:
        raise
    except LeaseholdError:
        # The decision without them raises its own error, if it is to be refused.
        return None
    return None if isinstance(outcome, Refusal) else outcome


def _allocated(part: Asked, view: Snapshot, terms: Terms) -> Sequence[Pick] | Refusal:
    search = Search(
        view,
        terms.held(part.ending),
        terms.lead.time + terms.length + part.ending.tail,
        part.held,
        part.firm,
        part.before,
        terms.margins.of(part.kind.pool),
        terms.explain,
        terms.budget.check,
        part.hidden,
    )
    try:
        return _in_leases(part.kind.allocate(part.request, search), part.ending, terms)
    except TakesTooLongError:
        raise
    except LeaseholdError as error:
        raise part.blame(error) from None


def _in_leases(outcome: Sequence[Pick] | Refusal, ending: Ending, terms: Terms) -> Sequence[Pick] | Refusal:
    """Return the outcome with windows of leases, in place of those in which resources are held.

    Within the lead from now on a lease has less time before its start. If it is refused there, so is any that starts
    later within it, which takes more: the nearest window starts after that, with the whole lead before it.
    """
    lead = terms.lead.time
    if not isinstance(outcome, Refusal) or not (ending.tail or lead):
        return outcome
    nearest = outcome.nearest and Window(outcome.nearest.start + lead, outcome.nearest.end - ending.tail)
    return replace(outcome, window=terms.window, nearest=nearest)
