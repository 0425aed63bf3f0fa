"""Laws of offers, on random histories: what is offered is held, what lapses is free at that moment, nothing twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.features.held_offer import use as held_offer
from leasehold.features.held_offer.model import OfferOverError
from leasehold.leasing.reading import queries
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import NotEnoughError, TooManyOffersError
from tests.factory import ALT, DEMO, Clock, hosts, make_service, run_manager
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
MOST = 2
"""Offers that a project may have open."""
PICK = st.integers(0, 9)
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.integers(1, 4), st.integers(1, 2)),
        st.tuples(st.just("offer"), st.integers(1, 4), st.integers(1, 2)),
        st.tuples(st.just("offer"), st.integers(1, 2), st.integers(1, 2)),
        st.tuples(st.just("accept"), PICK, st.just(0)),
        st.tuples(st.just("give up"), PICK, st.just(0)),
        st.tuples(st.just("delete"), PICK, st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 8), st.booleans()),
    ),
    min_size=5,
    max_size=30,
)


@dataclass(frozen=True, slots=True)
class Known:
    """What the books of the test know of a lease or an offer; `until` is None for a lease."""

    lease: Lease
    hour: int
    amount: int
    until: datetime | None = None


class History:
    """A service on which moves are made, and books of its own that say what is free."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.known: list[Known] = []
        self.over: list[Known] = []

    def move(self, what: str, number: int, more: int) -> None:
        self.world.clock.advance(microseconds=1)
        if what in ("lease", "offer"):
            self._ask(what, number, more)
        elif what == "pass":
            self.world.clock.advance(minutes=number)
            self.over += [each for each in self.known if not self._counts(each)]
            self.known = [each for each in self.known if self._counts(each)]
            if more:
                run_manager(self.world)
        else:
            self._answer(what, number)

    def _counts(self, each: Known) -> bool:
        return each.until is None or each.until > self.world.now()

    def _open(self, project: str | None = None) -> list[Known]:
        return [each for each in self.known if each.until and project in (None, each.lease.project_id)]

    def _ask(self, what: str, amount: int, hour: int) -> None:
        caller = DEMO if amount % 2 else ALT
        free = len(HOSTS) - sum(each.amount for each in self.known if each.hour == hour)
        start, end = self.world.hour(10 * hour), self.world.hour(10 * hour + 1)
        draft = LeaseDraft("asked", start, end, reservations=(hosts(amount),))
        hold = timedelta(minutes=5)
        try:
            if what == "lease":
                lease = self.world.lease(hosts(amount), start=10 * hour, end=10 * hour + 1, caller=caller)
            else:
                lease = held_offer.make_offer(self.world.service, caller, replace(draft, hold=hold))
        except NotEnoughError:
            assert amount > free
            return
        except TooManyOffersError:
            assert what == "offer"
            assert len(self._open(caller.project_id)) >= MOST
            return
        assert amount <= free
        until = lease.offered_until
        assert until == (None if what == "lease" else self.world.now() + hold)
        self.known.append(Known(lease, hour, amount, until))

    def _answer(self, what: str, number: int) -> None:
        """Accept or give up an open offer, or delete a lease."""
        among = [each for each in self.known if each.until is None] if what == "delete" else self._open()
        if not among:
            return
        each = among[number % len(among)]
        self.known.remove(each)
        if what == "accept":
            lease = held_offer.accept_offer(self.world.service, each.lease.id)
            assert (lease.window, lease.status) == (each.lease.window, "PENDING")
            self.known.append(replace(each, lease=lease, until=None))
        elif what == "give up":
            held_offer.give_up_offer(self.world.service, each.lease.id)
            self.over.append(each)
        else:
            self.world.delete(each.lease)

    def check(self) -> None:
        """Check that each lease and offer holds what it got, that offers are no leases, and that what is over is."""
        audit(self.world)
        listed = {each.id for each in list(queries.each_lease(self.world.service, None))}
        assert listed == {each.lease.id for each in self.known if each.until is None}
        offered = {each.id for each in held_offer.list_offers(self.world.service, None)}
        assert offered == {each.lease.id for each in self._open()}
        for each in self.known:
            service, ident = self.world.service, each.lease.id
            lease = held_offer.get_offer(service, ident) if each.until else queries.get_lease(service, ident)
            held = [one for one in lease.reservations[0].allocations if one.released_at is None]
            assert len({one.resource_number for one in held}) == each.amount
        for each in self.over:
            with pytest.raises(OfferOverError):
                held_offer.accept_offer(self.world.service, each.lease.id)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(moves=MOVES)
def test_an_offer_holds_what_it_shows_and_what_lapses_is_free(
    moves: Sequence[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with make_service(tmp_path_factory.mktemp("offers"), clock=Clock(), hosts=HOSTS) as made:
        leases = made.service.settings.leases
        world = made.with_settings(leases=replace(leases, limits=replace(leases.limits, offers=MOST)))
        history = History(world)
        for what, number, more in moves:
            history.move(what, number, more)
            history.check()
