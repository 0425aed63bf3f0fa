"""A law of layouts: whatever happens, what a reservation has lies together or apart as it asks for (feature C4)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.leasing.reading import queries
from tests.factory import DEMO, flavors, hosts, instances, make_service
from tests.stateful.audit import audit
from tests.unit.leasing.random_history import HOSTS, History

if TYPE_CHECKING:
    from leasehold.model.caller import Caller

pytestmark = pytest.mark.slow

RACKS = {"cmp-01": "a", "cmp-02": "a", "cmp-05": "b", "cmp-06": "b", "cmp-07": "b", "cmp-09": None}
LAYOUTS: list[dict[str, Any]] = [{}, {"together": "rack"}, {"apart": "rack"}]
ASKED = [
    {**part, **layout}
    for part in (hosts(1), hosts(2), hosts(1, 3), instances(2, 3), instances(2, affinity=False), flavors(2))
    for layout in LAYOUTS
]
MOVES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["lease", "waitlist"]), st.sampled_from(ASKED), st.integers(0, 3), st.integers(1, 4)),
        st.tuples(
            st.sampled_from(["extend", "grow", "delete", "swap", "maintain"]),
            st.none(),
            st.integers(0, 9),
            st.integers(1, 4),
        ),
        st.tuples(st.sampled_from(["fail", "recover"]), st.none(), st.integers(0, 5), st.just(1)),
        st.tuples(st.just("pass"), st.none(), st.integers(1, 60), st.just(1)),
    ),
    min_size=5,
    max_size=25,
)


class LaidOut(History):
    """A service whose hosts are in racks, but for one."""

    def closed(self) -> set[tuple[str, str]]:
        return set()

    def caller(self, start: int, length: int) -> Caller:
        return DEMO

    def _maintain(self, _: Any, number: int, length: int) -> None:
        hours = (self.world.now() - self.world.hour(0)).total_seconds() // 60 / 60 + length / 2
        self.world.maintain(HOSTS[number % len(HOSTS)], start=hours, end=hours + 0.5, on_conflict="move")

    def check(self) -> None:
        for lease in list(queries.each_lease(self.world.service, None)):
            for position, part in enumerate(lease.reservations):
                racks = Counter[str | None]()
                for label, slots in self.world.holds(lease, position).items():
                    racks[RACKS[label]] += slots
                if "together" in part.request:
                    assert len(racks) <= 1, racks
                if "apart" in part.request:
                    assert set(racks.values()) <= {1}, racks
                if {"together", "apart"} & part.request.keys():
                    assert None not in racks


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MOVES)
def test_whatever_happens_reservations_lie_as_they_ask_for(moves: list[tuple[str, Any, int, int]]) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder)) as world:
        for name, rack in RACKS.items():
            world.enrol(name, **({} if rack is None else {"rack": rack}))
        history = LaidOut(world)
        for each in moves:
            history.move(*each)
            history.check()
        audit(world)
