"""The law of notices on random histories: each holder has what it was promised, to the second, and not longer."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from leasehold.features.lending.publish import withdraw
from leasehold.features.owned_resource.use import end_lease
from leasehold.leasing.delete import delete_lease, take_back
from leasehold.model.errors import LeaseholdError
from leasehold.model.terms.notice import notice_of
from tests.factory import ALT, Clock, hosts, open_service, run_manager, run_until
from tests.stateful.audit import audit, audit_cloud
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from leasehold.features.lending.published_offer import PublishedOffer
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

SECONDS = (0, 1, 90, 600, 3600, 86_400)
"""How long the notices are; leases last two hours at most."""
WHICH = st.integers(0, 7)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["publish", "claim", "offer", "lend"]), WHICH),
    st.tuples(st.sampled_from(["take", "take_late"]), WHICH),
    st.tuples(st.sampled_from(["take", "delete_lender"]), WHICH),
    st.tuples(st.sampled_from(["shorten", "extend", "extend", "delete"]), WHICH),
    st.tuples(st.just("wait"), st.sampled_from([0, 1, 90, 1000, 4000])),
)


@dataclass
class Holder:
    """What the test knows of a lease of what others lend: its end, its notice, the lender, and its server, if any."""

    lease: Lease
    end: datetime
    notice: timedelta
    held: datetime | None = None
    """Until when it holds something that is lent: to the end of the lender, or its own when that is deleted."""
    taken: bool = False
    server: str | None = None


class History:
    """An owner of one host and a lessee of the others, who lend; the holders are told ends that the test works out."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.give("demo", "cmp-01")
        self.offers: list[tuple[PublishedOffer, timedelta]] = []
        self.holders: list[Holder] = []
        self.told = 0
        self.lender: Lease | None = world.active(
            hosts(2, resource_properties='["!=", "$hypervisor_hostname", "cmp-01"]'), end=2
        )

    @property
    def now(self) -> datetime:
        return self.world.now()

    def publish(self, which: int) -> None:
        length = SECONDS[which % len(SECONDS)]
        with suppress(LeaseholdError):
            self.offers.append(
                (self.world.publish("cmp-01", end=2, notice=notice_of(length)), timedelta(seconds=length))
            )

    def offer(self, which: int) -> None:
        length = SECONDS[which % len(SECONDS)]
        if self.lender is not None:
            with suppress(LeaseholdError):
                made = self.world.offer_part(self.lender, notice=notice_of(length))
                self.offers.append((made, timedelta(seconds=length)))

    def claim(self, which: int) -> None:
        """Claim of an offer, of a resource also for later."""
        if not self.offers:
            return
        offer, length = self.offers[which % len(self.offers)]
        hours = (self.now - self.world.hour(0)) / timedelta(hours=1)
        start = hours + which / 20 if which % 3 and offer.part is None else None
        with suppress(LeaseholdError):
            self._holds(self.world.claim(offer, start=start, caller=ALT), length)

    def lend(self, which: int) -> None:
        length = SECONDS[which % len(SECONDS)]
        if self.lender is not None:
            with suppress(LeaseholdError):
                self._holds(self.world.lend(self.lender, amount=1, notice=notice_of(length)), timedelta(seconds=length))

    def _holds(self, lease: Lease, notice: timedelta) -> None:
        run_manager(self.world)
        holder = Holder(lease, lease.window.end, notice, None if lease.lent is None else self.world.hour(2))
        if self.world.status(lease) == "ACTIVE":
            holder.server = self.world.boot(lease).id
        self.holders.append(holder)

    def _taken(self, *taken: Holder) -> None:
        """Note that these are taken back now: the notice begins with the next whole second."""
        for each in taken:
            if not each.notice or each.lease.window.start >= self._begins() + each.notice:
                self._gone(each)
            elif not each.taken:
                self.told += 1
                each.taken, each.end = True, min(each.end, self._begins() + each.notice)

    def _begins(self) -> datetime:
        return self.now if not self.now.microsecond else self.now.replace(microsecond=0) + timedelta(seconds=1)

    def _gone(self, holder: Holder) -> None:
        run_manager(self.world)
        assert not self.world.exists(holder.lease)
        self.holders.remove(holder)

    def take(self, which: int) -> None:
        """Take back what one of the holders has, in one of the ways that there are for it."""
        if not self.holders:
            return
        one, owner = self.holders[which % len(self.holders)], which // 4
        offers = [each for each, _ in self.offers if each.id == one.lease.published_offer]
        if offers and owner:
            self.offers = [each for each in self.offers if each[0].id != offers[0].id]
            withdraw(self.world.service, offers[0].id, "demo")
            self._taken(*(each for each in self.holders if each.lease.published_offer == offers[0].id))
        elif one.lease.lent is not None:
            take_back(self.world.service, one.lease.id)
            self._taken(one)
        else:
            end_lease(self.world.service, "demo", one.lease.id)
            self._taken(one)

    def take_late(self, which: int) -> None:
        """Take back what begins or ends just now, before any manager has seen that."""
        self.world.clock.advance(seconds=90)
        self.take(which)

    def delete_lender(self, which: int) -> None:
        del which
        if self.lender is not None:
            delete_lease(self.world.service, self.lender.id)
            self._taken(*(each for each in self.holders if each.lease.lent is not None))
            for each in self.holders:
                each.held = None if each.held is None else each.end
            self.lender = None

    def shorten(self, which: int) -> None:
        self._amend(which, -timedelta(minutes=10))

    def extend(self, which: int) -> None:
        """A holder asks for more, which it does not get once its lease is taken back."""
        self._amend(which, timedelta(minutes=10))

    def _amend(self, which: int, by: timedelta) -> None:
        if self.holders:
            one = self.holders[which % len(self.holders)]
            try:
                one.end = self.world.amend(one.lease, end_by=by).window.end
            except LeaseholdError:
                return
            assert by < timedelta(0) or not one.taken

    def delete(self, which: int) -> None:
        """A holder, or an operator, deletes a lease: nobody waits for anything."""
        if self.holders:
            one = self.holders[which % len(self.holders)]
            self.world.delete(one.lease)
            self._gone(one)

    def wait(self, seconds: int) -> None:
        run_until(self.world, self.now + timedelta(seconds=seconds))

    def check(self) -> None:
        """Each holder has its host and its server exactly until the end that the test has worked out."""
        self.holders = [each for each in self.holders if not self._over(each)]
        servers = self.world.servers()
        for each in self.holders:
            lease = self.world.get(each.lease)
            assert lease.window.end == each.end
            assert lease.status in ("PENDING", "STARTING", "ACTIVE")
            assert sum(self.world.holds(lease).values()) == 1
            assert each.server is None or each.server in servers
            # Others may have it from then on.
            assert {held.window.end for held in lease.unreleased} == {each.held or each.end}
        audit(self.world)

    def _over(self, holder: Holder) -> bool:
        if self.now < holder.end:
            return False
        run_manager(self.world)
        assert self.world.status(holder.lease) == "TERMINATED"
        assert holder.server not in self.world.servers()
        assert not self.world.get(holder.lease).unreleased
        return True


@settings(max_examples=40)
@given(
    steps=st.lists(STEPS, min_size=2, max_size=12),
    lengths=st.tuples(WHICH, WHICH, WHICH),
    part=st.sampled_from([0, 250]),
)
def test_each_holder_has_what_it_was_promised_and_not_longer(
    enrolled: Path, steps: list[tuple[str, int]], lengths: tuple[int, int, int], part: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(enrolled, Path(folder) / "leasehold.db")
        clock = Clock()
        world = open_service(f"sqlite:///{folder}/leasehold.db", clock=clock)
        history = History(world)
        begin = zip(
            ("publish", "claim", "offer", "claim", "lend"), (lengths[0], 0, lengths[1], 1, lengths[2]), strict=True
        )
        for step, which in (*begin, *steps):
            clock.advance(seconds=1, milliseconds=part)
            getattr(history, step)(which)
            history.check()
        run_until(world, world.hour(3))
        history.check()
        assert not history.holders
        event(f"{history.told} holders were told")
        assert findings(world) == []
        audit_cloud(world)
        world.engine.dispose()
