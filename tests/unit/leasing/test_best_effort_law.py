"""A law of best-effort leases, on random histories with faults and crashes at any call to the cloud (feature A4).

Whatever happens, such a lease is granted or ends as TIMEDOUT. Then nothing is held for it, and the hosts that were
drawn in vain are shared again.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from leasehold.db.tables import allocations
from tests.factory import make_service
from tests.unit.leasing.test_membership_law import SETTINGS, History

pytestmark = pytest.mark.slow

SHARED = ("cmp-02", "cmp-09", "cmp-06")
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("effort"), st.integers(0, 9)),
        st.tuples(st.sampled_from(["lease", "delete", "boot"]), st.integers(0, 9)),
        st.tuples(st.sampled_from(["disable", "enable", "fail", "recover"]), st.integers(0, 3)),
        st.tuples(st.sampled_from(["slow_moves", "fault", "kill", "kill"]), st.integers(0, 40)),
        st.tuples(st.just("pass"), st.integers(1, 40)),
    ),
    max_size=12,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 9), st.integers(0, 40), MOVES)
def test_a_best_effort_lease_is_granted_or_leaves_all_as_it_was(first: int, slow: int, moves: list[Any]) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), settings=SETTINGS) as world:
        history = History(world)
        for number in range(4):
            history.boot(number)
        world.cloud.servers.take_to("migrate", slow * 10)
        world.enrol("cmp-01")
        world.share(*SHARED)
        for each in [("effort", first), *moves]:
            history.move(*each)
        history.settle()
        with world.service.db.reading() as connection:
            promised = set(connection.execute(select(allocations.c.resource_number)).scalars())
        # Nobody else draws hosts in these histories.
        pooled = {each.number for each in world.listed() if each.label in SHARED and each.pooled}
        assert pooled <= promised
