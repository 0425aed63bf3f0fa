"""Laws of fillers, on random histories, against an oracle that knows nothing of the calendar.

A filler is granted exactly when there are hosts that are up, on and not promised from now until its guarantee and the
time to leave are over. No lease that begins W from now is refused or starts late because of one, and when it begins its
hosts are empty. Managers die now and then, and hosts fail.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from leasehold.db.tables import allocations
from leasehold.features.filler import store as rows
from leasehold.features.filler.model import NEEDED
from leasehold.leasing.reading import queries
from leasehold.model.errors import LeaseholdError, NotEnoughError
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import to_seconds
from tests.factory import dies_at, hosts, instances
from tests.features.filler.site import HOSTS, Site, site

if TYPE_CHECKING:
    from leasehold.model.lease import Lease

pytestmark = pytest.mark.slow

ASKED = (hosts(1), hosts(2), hosts(1, 4), instances(3))
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.integers(0, 30)),
        st.tuples(st.sampled_from(["fill", "fill", "boot"]), st.integers(0, 90)),
        st.tuples(st.sampled_from(["delete", "later", "longer", "end"]), st.integers(0, 60)),
        st.tuples(st.sampled_from(["fail", "recover", "kill"]), st.integers(0, 20)),
        st.tuples(st.just("pass"), st.integers(1, 25)),
    ),
    min_size=2,
    max_size=10,
)
USED = [("fill", 1), ("pass", 1), ("boot", 0), ("boot", 1)]
"""Each history begins with hosts that are in use."""


class History:
    """A service on which moves are made."""

    def __init__(self, here: Site) -> None:
        self.here = here
        self.world = here.world
        self.granted = 0
        self.dead = timedelta(0)
        """For so long no manager was at work; the promise comes before the notice then."""

    def move(self, what: str, number: int) -> None:
        with suppress(LeaseholdError):
            getattr(self, f"_{what}")(number)
        self.check()

    def room(self, lasts: timedelta) -> set[int]:
        """Return the hosts for a filler, by brute force from the rows."""
        now = to_seconds(self.world.now())
        last = now + int(lasts.total_seconds())
        with self.world.service.db.reading() as connection:
            held = connection.execute(select(allocations)).all()
            filled = {each.resource_number for each in rows.present_hosts(connection)}
        taken = {
            each.resource_number
            for each in held
            if each.ends_at > each.starts_at
            and each.starts_at < last
            and (each.ends_at > now or each.released_at is None)
        }
        usable = {each.number for each in self.world.listed() if each.reservable}
        return usable - taken - filled

    def check(self) -> None:
        """Check the guarantees, and that a lease which has begun shares no host with a filler."""
        now = self.world.now()
        with self.world.service.db.reading() as connection:
            filled = {each.resource_number: each for each in rows.present_hosts(connection)}
            told = connection.execute(select(rows.filled_hosts).where(rows.filled_hosts.c.reason == NEEDED)).all()
        names = {each.number: each for each in self.world.listed()}
        assert all(each.leaves_at - each.told_at >= self.here.settings.notice - self.dead for each in told)
        for lease in self.leases():
            assert "to be ready" not in self.world.reason(lease)
            if lease.status is LeaseStatus.ACTIVE:
                held = set(self.world.holds(lease))
                assert held.isdisjoint(names[number].label for number in filled if number in names), (now, lease)

    def settle(self) -> None:
        """Let everything come to its end, and check that no lease has waited for a filler."""
        for name in HOSTS:
            self.world.recover(name)
        for _ in range(60):
            self.here.run_for(minutes=2)
            self.check()
        self.here.checked()
        with self.world.service.db.reading() as connection:
            present = rows.present_hosts(connection)
        assert {each.told_at for each in present} <= {None}

    def leases(self) -> list[Lease]:
        return list(queries.each_lease(self.world.service, None))

    def _lease(self, number: int) -> None:
        """Ask for a lease W from now or later: it is granted exactly as if there were no fillers."""
        start = self.world.now().replace(second=0) + self.here.settings.takes + timedelta(minutes=1 + number)
        begin = (start - self.world.hour(0)) / timedelta(hours=1)
        last = to_seconds(start) + 3600
        with self.world.service.db.reading() as connection:
            held = connection.execute(select(allocations)).all()
        taken = {
            each.resource_number
            for each in held
            if each.ends_at > each.starts_at and each.starts_at < last and each.ends_at > to_seconds(start)
        }
        free = {each.number for each in self.world.listed() if each.reservable} - taken
        least = 1 + number % 3
        try:
            self.world.lease(hosts(least), start=begin, end=begin + 1)
        except NotEnoughError:
            assert len(free) < least
        # More may be granted than is free: leases that have not started get other hosts.

    def _fill(self, number: int) -> None:
        least, at_least = 1 + number % 3, timedelta(minutes=10 + number)
        room = self.room(at_least + self.here.settings.leaving)
        if len(room) < least:
            with pytest.raises(NotEnoughError) as refused:
                self.here.fill(least, at_least=at_least)
            assert refused.value.refusal.largest == len(room)
            return
        filler = self.here.fill(least, at_least=at_least)
        self.granted += 1
        got = {each.resource_number for each in self.here.hosts(filler)}
        assert len(got) == least
        assert got <= room
        until = [each for each in self.here.guaranteed(filler) if each is not None]
        assert all(each >= self.world.now() + at_least - timedelta(seconds=1) for each in until)

    def _fill_all(self, number: int) -> None:
        """Ask for all hosts that there are, and give them back."""
        at_least = timedelta(minutes=10 + number)
        room = self.room(at_least + self.here.settings.leaving)
        if room:
            filler = self.here.fill(1, 10, at_least=at_least)
            assert {each.resource_number for each in self.here.hosts(filler)} == room
            self.here.end(filler)
            # It has not come, so nothing has to end.
            self.here.rounds.run()

    def _boot(self, number: int) -> None:
        with self.world.service.db.reading() as connection:
            present = [each for each in rows.present_hosts(connection) if each.arrived_at is not None]
        if present:
            each = present[number % len(present)]
            self.world.cloud.servers.boot("server", each.project_id, "m1.small", [each.id])

    def _end(self, number: int) -> None:
        with self.world.service.db.reading() as connection:
            present = rows.present_hosts(connection)
            found = rows.fillers_by_id(connection, {each.filler_id for each in present})
        if found:
            self.here.end(found[sorted(found)[number % len(found)]])

    def _delete(self, number: int) -> None:
        found = self.leases()
        if found:
            self.world.delete(found[number % len(found)])

    def _moved(self, number: int, start: float, end: float) -> None:
        found = self.leases()
        if found:
            lease, hour = found[number % len(found)], timedelta(hours=1)
            begin, stop = ((each - self.world.hour(0)) / hour for each in (lease.window.start, lease.window.end))
            self.world.amend(lease, start=begin + start, end=stop + end)

    def _later(self, number: int) -> None:
        self._moved(number, number / 60, number / 60)

    def _longer(self, number: int) -> None:
        self._moved(number, 0, number / 60)

    def _fail(self, number: int) -> None:
        self.world.fail(HOSTS[number % len(HOSTS)])

    def _recover(self, number: int) -> None:
        self.world.recover(HOSTS[number % len(HOSTS)])

    def _kill(self, number: int) -> None:
        if dies_at(self.world, 1 + number, self.here.rounds.run):
            self.world.clock.advance(seconds=61)
            self.dead += timedelta(seconds=61)

    def _pass(self, number: int) -> None:
        for _ in range(number):
            self.here.run_for(minutes=1)
            self.check()


def test_a_filler_is_granted_exactly_where_nothing_is_promised(tmp_path: Path) -> None:
    """Many grants at one moment, with leases around the end of what they ask for."""
    choose = Random(7)  # noqa: S311 - no secret.
    with site(tmp_path, (*HOSTS, "cmp-05", "cmp-09")) as here:
        history = History(here)
        refused = 0
        for _ in range(150):
            what = choose.choice(["lease", "lease", "fill", "fill_all", "fill_all", "delete", "end"])
            before = history.granted
            getattr(history, f"_{what}")(choose.randrange(40))
            refused += what == "fill" and history.granted == before
            if what == "end":
                here.rounds.run()
        assert refused >= 5
        assert history.granted >= 5


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(MOVES)
def test_fillers_have_what_nobody_is_promised_and_delay_nobody(moves: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder, site(Path(folder), every=timedelta(minutes=1)) as here:
        history = History(here)
        for what, number in (*USED, *moves):
            history.move(what, number)
        history.settle()
