"""A law of sleeping hosts, on random histories: no lease starts late, and no promise is kept by a host that is off.

Machines always boot within the time that is said of them; managers die now and then, and hosts fail.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from leasehold.db.tables import allocations
from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.power.machines import list_machines, wake_machine
from leasehold.features.power.store import sleeps
from leasehold.leasing.reading import queries
from leasehold.model.errors import LeaseholdError
from leasehold.model.windows import from_seconds
from tests.factory import AT_ONCE, dies_at, hosts, instances
from tests.features.power.night import HOSTS, Night, night
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from leasehold.model.lease import Lease

pytestmark = pytest.mark.slow

ASKED = (hosts(1), hosts(2), hosts(1, 4), instances(3))
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.integers(0, 300)),
        st.tuples(st.sampled_from(["delete", "later", "sooner", "longer"]), st.integers(0, 90)),
        st.tuples(st.sampled_from(["wake", "fail", "recover", "kill"]), st.integers(0, 20)),
        st.tuples(st.sampled_from(["pass", "pass", "pass"]), st.integers(1, 60)),
    ),
    min_size=4,
    max_size=16,
)


class History:
    """A service on which moves are made, with what was promised on hosts while they were asleep."""

    def __init__(self, site: Night) -> None:
        self.site = site
        self.world = site.world

    def move(self, what: str, number: int) -> None:
        with suppress(LeaseholdError):
            getattr(self, f"_{what}")(number)
        self.check()

    def check(self) -> None:
        """Check that whatever is promised on a host that sleeps begins when it can be ready."""
        starts = select(allocations.c.resource_number, func.min(allocations.c.starts_at).label("first"))
        ahead = allocations.c.ends_at > allocations.c.starts_at, allocations.c.released_at.is_(None)
        with self.world.service.db.reading() as connection:
            rows = connection.execute(starts.where(*ahead).group_by(allocations.c.resource_number)).all()
        first = {row.resource_number: from_seconds(row.first) for row in rows}
        for each in list_machines(self.world.service):
            if each.ready_at is not None and each.resource.number in first:
                assert first[each.resource.number] >= each.ready_at.replace(microsecond=0), each

    def settle(self) -> None:
        """Let everything come to its end, and check that no lease has waited for a machine."""
        for name in HOSTS:
            self.world.recover(name)
        self.site.run_for(hours=8)
        self.check()
        audit(self.world)
        assert not audit_cloud(self.world.service, Pace(between_looks=0, wait=lambda _: None))
        with self.world.service.db.reading() as connection:
            assert not connection.execute(select(func.sum(sleeps.c.late))).scalar()

    def _leases(self) -> list[Lease]:
        return list(queries.each_lease(self.world.service, None))

    def _lease(self, number: int) -> None:
        now = (self.world.now().replace(second=0) - self.world.hour(0)) / timedelta(hours=1)
        begin = now + number / 60
        self.world.lease(ASKED[number % len(ASKED)], start=begin, end=begin + 0.5 + number % 3)

    def _delete(self, number: int) -> None:
        found = self._leases()
        if found:
            self.world.delete(found[number % len(found)])

    def _moved(self, number: int, start: float, end: float) -> None:
        found = self._leases()
        if found:
            lease, hour = found[number % len(found)], timedelta(hours=1)
            times = ((each - self.world.hour(0)) / hour for each in (lease.window.start, lease.window.end))
            begin, stop = times
            self.world.amend(lease, start=begin + start, end=stop + end)

    def _later(self, number: int) -> None:
        self._moved(number, number / 60, number / 60)

    def _sooner(self, number: int) -> None:
        self._moved(number, -number / 60, -number / 60)

    def _longer(self, number: int) -> None:
        self._moved(number, 0, number / 60)

    def _wake(self, number: int) -> None:
        wake_machine(self.world.service, self.world.host(HOSTS[number % len(HOSTS)]).id)

    def _fail(self, number: int) -> None:
        # One that fails while it sleeps may leave nothing else for its lease.
        if self.world.host(name := HOSTS[number % len(HOSTS)]).readiness is None:
            self.world.fail(name)

    def _recover(self, number: int) -> None:
        self.world.recover(HOSTS[number % len(HOSTS)])

    def _kill(self, number: int) -> None:
        dies_at(self.world, 1 + number, self.site.rounds.run)

    def _pass(self, number: int) -> None:
        for _ in range(number):
            self.site.run_for(minutes=1)
            self.check()


@pytest.mark.timeout(900)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(MOVES, st.sampled_from([0, 0, 5, 20]))
def test_no_lease_starts_late_and_no_promise_needs_a_host_that_is_off(
    moves: list[tuple[str, int]], cleaning: int
) -> None:
    leases = replace(AT_ONCE.leases, cleaning_time=timedelta(minutes=cleaning))
    with TemporaryDirectory() as folder, night(Path(folder), leases=leases, least_off=timedelta(minutes=1)) as site:
        history = History(site)
        for what, number in moves:
            history.move(what, number)
        history.settle()
