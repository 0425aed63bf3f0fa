"""Laws of published offers, on random histories: what is free is what can be claimed, and nothing is leased twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from leasehold.conf.settings import LeaseSettings, ManagerSettings, Settings
from leasehold.features.lending.model import OffersOverlapError, OutsideOfferError
from leasehold.features.lending.publish import list_published, withdraw
from leasehold.features.lending.published_offer import PublishedStatus
from leasehold.model.errors import InUseError, InvalidDateError, NotEnoughError, NotFreeInOfferError
from tests.factory import ALT, DEMO, START, hosts, make_service, run_manager
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from leasehold.features.lending.published_offer import PublishedOffer
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

DAY = 12
"""The hours that moves are about; minutes are counted from `START`."""
HOUR = st.integers(0, DAY)
LENGTH = st.integers(1, 5)
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), HOUR, LENGTH),
        st.tuples(st.just("claim"), HOUR, LENGTH),
        st.tuples(st.just("claim"), HOUR, LENGTH),
        st.tuples(st.just("lease"), HOUR, LENGTH),
        st.tuples(st.just("stretch"), HOUR, LENGTH),
        st.tuples(st.sampled_from(["delete", "withdraw"]), st.integers(0, 9), st.just(1)),
        st.tuples(st.just("pass"), st.integers(1, 90), st.just(1)),
    ),
    min_size=5,
    max_size=25,
)


@dataclass
class History:
    """A service with one host, which `demo` owns, and books of the test: the leases by their minutes.

    `over` is when leases had the host that are over or deleted: it is cleaned after them.
    """

    world: World
    margin: int
    leases: dict[str, tuple[Lease, int, int]] = field(default_factory=dict)
    over: list[tuple[int, int]] = field(default_factory=list)

    @property
    def now(self) -> int:
        return (self.world.now() - START) // timedelta(minutes=1)

    def busy(self, but: str = "") -> set[int]:
        """Return the minutes in which no lease may be, other than this one."""
        others = [(first, last) for ident, (_, first, last) in self.leases.items() if ident != but] + self.over
        return {minute for first, last in others for minute in range(first - self.margin, last + self.margin)}

    def window(self, offer: PublishedOffer) -> range:
        first, last = ((each - START) // timedelta(minutes=1) for each in (offer.window.start, offer.window.end))
        return range(first, last)

    def free(self, offer: PublishedOffer) -> set[int]:
        return {minute for minute in self.window(offer) if minute >= self.now} - self.busy()

    def offers(self) -> list[PublishedOffer]:
        found = list_published(self.world.service, "alt")
        assert all(each.status(self.world.now()) is PublishedStatus.AVAILABLE for each in found)
        return list(found)

    def move(self, what: str, first: int, more: int) -> None:
        start, end = first, first + more
        if what == "pass":
            self.world.clock.advance(minutes=first)
            run_manager(self.world)
            for ident in [ident for ident, (_, _, last) in self.leases.items() if last <= self.now]:
                self.end(ident)
        elif what == "publish":
            self.publish(start, end)
        elif what == "lease":
            self.lease(start, end)
        elif what in ("withdraw", "claim"):
            offers = self.offers()
            if offers and what == "claim":
                self.claim(offers[first % len(offers)], start, end)
            elif offers:
                self.withdraw(offers[first % len(offers)])
        elif self.leases:
            lease, begin, _ = list(self.leases.values())[first % len(self.leases)]
            if what == "delete":
                self.world.delete(lease)
                run_manager(self.world)
                self.end(lease.id)
            else:
                self.stretch(lease, begin, end)

    def end(self, ident: str) -> Lease:
        """Note that a lease is over now, or was at its end."""
        lease, first, last = self.leases.pop(ident)
        if first <= self.now:
            self.over.append((first, min(last, self.now)))
        return lease

    def publish(self, start: int, end: int) -> None:
        window = set(range(start * 60, end * 60))
        taken = any(not window.isdisjoint(self.window(each)) for each in self.offers())
        try:
            self.world.publish("cmp-01", start, end)
        except OffersOverlapError:
            assert taken
        except InvalidDateError:
            assert end * 60 <= self.now
        else:
            assert not taken

    def lease(self, start: int, end: int) -> None:
        window = set(range(start * 60, end * 60))
        try:
            made = self.world.lease(hosts(), start=start, end=end, caller=DEMO)
        except NotEnoughError:
            assert not window.isdisjoint(self.busy())
        except InvalidDateError:
            assert start * 60 < self.now
        else:
            assert window.isdisjoint(self.busy())
            self.leases[made.id] = (made, start * 60, end * 60)

    def claim(self, offer: PublishedOffer, start: int, end: int) -> None:
        window, free = set(range(start * 60, end * 60)), self.free(offer)
        try:
            made = self.world.claim(offer, start, end, caller=ALT)
        except NotFreeInOfferError:
            assert not window <= free
        except InvalidDateError:
            assert start * 60 < self.now
        else:
            # What begins in the minute before counts as beginning now.
            assert start * 60 >= self.now - 1
            assert {minute for minute in window if minute >= self.now} <= free
            self.leases[made.id] = (made, start * 60, end * 60)

    def withdraw(self, offer: PublishedOffer) -> None:
        withdraw(self.world.service, offer.id, "demo")
        run_manager(self.world)
        gone = [ident for ident, (lease, _, _) in self.leases.items() if lease.published_offer == offer.id]
        for ident in gone:
            assert not self.world.exists(self.end(ident))

    def stretch(self, lease: Lease, begin: int, end: int) -> None:
        """Give a lease another end; it stays within its offer, if it was made of one."""
        if end * 60 <= max(begin, self.now):
            return
        window = set(range(max(begin, self.now), end * 60))
        try:
            after = self.world.amend(lease, end=end)
        except OutsideOfferError:
            ident = lease.published_offer
            (offer,) = (each for each in list_published(self.world.service, "demo") if each.id == ident)
            assert self.world.hour(end) > offer.window.end
        except (NotEnoughError, InUseError):
            assert not window.isdisjoint(self.busy(but=lease.id))
        else:
            assert window.isdisjoint(self.busy(but=lease.id))
            self.leases[lease.id] = (after, begin, end * 60)

    def check(self) -> None:
        """Check that what is shown as free is exactly what the books say, and that each lease has the host."""
        audit(self.world)
        for offer in self.offers():
            ranges = [(round(first * 60), round(last * 60)) for first, last in self.world.free(offer)]
            shown = [minute for each in ranges for minute in range(*each)]
            assert len(shown) == len(set(shown))
            assert set(shown) == self.free(offer)
        for lease, _, _ in self.leases.values():
            assert self.world.holds(lease) == {"cmp-01": 1}


# The host is cleaned after a lease that is over.
@example(moves=[("publish", 0, 1), ("publish", 1, 2), ("lease", 0, 2), ("pass", 30, 1), ("pass", 90, 1)], margin=20)
# An offer that is over is in nobody's way, although the new one began before its end.
@example(moves=[("publish", 0, 2), ("pass", 90, 1), ("pass", 40, 1), ("publish", 1, 3)], margin=0)
# A claim may begin in the minute before now.
@example(moves=[("pass", 1, 1), ("publish", 0, 1), ("claim", 0, 1)], margin=0)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(moves=MOVES, margin=st.sampled_from([0, 20]))
def test_what_is_free_is_what_can_be_claimed(moves: list[tuple[str, int, int]], margin: int) -> None:
    wanted = Settings(
        leases=LeaseSettings(cleaning_time=timedelta(minutes=margin)), manager=ManagerSettings(failure_grace_seconds=0)
    )
    with TemporaryDirectory() as folder, make_service(Path(folder), settings=wanted, hosts=("cmp-01",)) as world:
        world.give("demo", "cmp-01")
        history = History(world, margin)
        for move in moves:
            history.move(*move)
            history.check()
