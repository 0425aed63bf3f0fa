"""Laws of planned capacity, on random histories, beside a count of whole hosts hour by hour.

What is free at a moment is the sum of the steps that hold then, less what is promised. No promise lies on a host while
it is not there, unless the lease says that it misses something. What is refused changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.db.resources.resource import resources_by_number
from leasehold.leasing.maintenance.model import MaintenanceConflictError, OnConflict
from leasehold.leasing.reading import queries
from leasehold.model.errors import LeaseholdError
from leasehold.model.resource import Health
from tests.factory import hosts, make_service, run_until
from tests.features.planned_capacity.planning import (
    arrived,
    decrease,
    increase,
    one,
    promise,
    put_off,
    remove,
    reserve,
    round_,
)
from tests.features.planned_capacity.test_decrease import free_at
from tests.stateful.audit import audit, dump

if TYPE_CHECKING:
    from tests.factory import World

pytestmark = pytest.mark.slow

THERE = ("cmp-01", "cmp-02", "cmp-06")
LAST = 40
FOR_EVER = 10_000
hours = st.integers(0, LAST - 1)
MOVES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["increase", "lease", "decrease", "reserve"]), hours, st.integers(0, 20)),
        st.tuples(st.sampled_from(["put_off", "promise", "withdraw", "arrive", "cancel"]), hours, st.integers(0, 20)),
        st.tuples(st.sampled_from(["put_off", "decrease", "lease"]), st.integers(12, 24), st.integers(0, 20)),
        st.tuples(st.just("wait"), st.integers(0, 3), st.just(0)),
    ),
    min_size=3,
    max_size=10,
)
BEGIN = (("increase", 12, 4), ("increase", 14, 7), ("lease", 15, 5), ("lease", 16, 8), ("lease", 20, 3))
"""Two hosts that come, one of which goes again, and leases that need them."""


@dataclass
class Steps:
    """What was planned: from when until when each host is there, and when it is taken away."""

    world: World
    there: dict[str, tuple[int, int]] = field(default_factory=lambda: dict.fromkeys(THERE, (0, FOR_EVER)))
    promised: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(THERE, True))
    gone: dict[str, dict[str, tuple[int, int]]] = field(default_factory=lambda: defaultdict(dict))
    increases: dict[str, str] = field(default_factory=dict)
    reserves: list[str] = field(default_factory=list)
    now: int = 0

    def move(self, what: str, hour: int, number: int) -> None:
        before = dump(self.world.engine)
        try:
            getattr(self, f"_{what}")(hour, number)
        except MaintenanceConflictError:
            assert dump(self.world.engine) == before
        except LeaseholdError:
            pass
        self.check()

    def check(self) -> None:
        probes = list(range(self.now + 1, LAST))
        taken = self._taken()
        free = [sum(self._is_free(host, hour, taken) for host in self.there) for hour in probes]
        assert free_at(self.world, hosts(), *probes, until=LAST + 1) == free
        audit(self.world)
        self._check_early()

    def _check_early(self) -> None:
        with self.world.service.db.reading() as connection:
            known = resources_by_number(connection, [each.number for each in self.world.listed()])
        for lease in queries.each_lease(self.world.service, None):
            for part in () if lease.is_maintenance else lease.reservations:
                for held in part.allocations:
                    host = known.get(held.resource_number)
                    if host is None or not held.window.duration or held.left_at is not None:
                        continue
                    early = host.health is Health.PLANNED and held.window.start < (
                        host.expected_at or held.window.start
                    )
                    assert not early or part.missing_resources

    def _taken(self) -> dict[str, list[tuple[float, float]]]:
        """Return when leases and reserves have each host, in hours."""
        found: dict[str, list[tuple[float, float]]] = defaultdict(list)
        leases = [each for each in queries.each_lease(self.world.service, None) if not each.is_maintenance]
        held = [lease for ident in self.reserves for lease in one(self.world, ident).holds]
        for lease in (*leases, *held):
            begin, end = (
                (each - self.world.hour(0)) / timedelta(hours=1) for each in (lease.window.start, lease.window.end)
            )
            for host in self.world.holds(lease):
                found[host].append((begin, end))
        return found

    def _is_free(self, host: str, hour: int, taken: dict[str, list[tuple[float, float]]]) -> bool:
        begin, end = self.there[host]
        windows = [*self.gone[host].values(), *taken[host]]
        return self.promised[host] and begin <= hour < end and not any(a <= hour < b for a, b in windows)

    def _increase(self, hour: int, number: int) -> None:
        name, end = f"new-{len(self.increases)}", hour + 1 + number if number % 2 else None
        ident = increase(self.world, name, start=hour, end=end, promise=number % 3 > 0)
        self.increases[name] = ident
        self.there[name] = (hour, end or FOR_EVER)
        self.promised[name] = number % 3 > 0

    def _planned(self, number: int) -> str:
        names = sorted(self.increases)
        if not names:
            raise LeaseholdError("Nothing is planned.")
        return names[number % len(names)]

    def _put_off(self, hour: int, number: int) -> None:
        name = self._planned(number)
        put_off(self.world, self.increases[name], hour)
        self.there[name] = (hour, self.there[name][1])

    def _promise(self, _hour: int, number: int) -> None:
        name = self._planned(number)
        promise(self.world, self.increases[name], promised=bool(number % 2))
        self.promised[name] = bool(number % 2) and self.there[name][0] > self.now

    def _withdraw(self, _hour: int, number: int) -> None:
        name = self._planned(number)
        remove(self.world, self.increases[name], force=bool(number % 3))
        del self.increases[name], self.there[name]

    def _arrive(self, _hour: int, number: int) -> None:
        name = self._planned(number)
        arrived(self.world, self.increases[name], **{name: "cmp-05"})
        end = self.there.pop(name)[1]
        self.gone["cmp-05"] = self.gone.pop(name, {})
        # It is promised from now on, until it goes.
        self.there["cmp-05"], self.promised["cmp-05"] = (0, end), True
        del self.increases[name]

    def _decrease(self, hour: int, number: int) -> None:
        label = THERE[number % len(THERE)]
        end = hour + 1 + number if number % 2 else None
        word = list(OnConflict)[number % len(OnConflict)]
        ident = decrease(self.world, label, start=hour, end=end, on_conflict=word)
        self.gone[label][ident] = (hour, end or FOR_EVER)

    def _cancel(self, _hour: int, number: int) -> None:
        found = [(label, ident) for label in THERE for ident in self.gone[label]]
        if found:
            label, ident = found[number % len(found)]
            remove(self.world, ident)
            del self.gone[label][ident]
            run_until(self.world, self.world.now())

    def _reserve(self, hour: int, number: int) -> None:
        self.reserves.append(reserve(self.world, 1 + number % 2, start=hour, end=hour + 1 + number))

    def _lease(self, hour: int, number: int) -> None:
        self.world.lease(hosts(1 + number % 3), start=hour, end=hour + 1 + number)

    def _wait(self, hour: int, _number: int) -> None:
        self.now = min(self.now + hour, LAST - 2)
        run_until(self.world, self.world.hour(self.now))
        round_(self.world)
        run_until(self.world, self.world.hour(self.now))
        for name in self.increases:
            if self.there[name][0] <= self.now:
                self.promised[name] = False


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MOVES)
def test_what_is_free_is_the_sum_of_the_steps_less_what_is_promised(moves: list[tuple[str, int, int]]) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), hosts=THERE) as world:
        steps = Steps(world)
        for what, hour, number in (*BEGIN, *moves):
            steps.move(what, hour, number)
