"""On each database: a maintenance window beside requests that come at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from leasehold.leasing.maintenance.model import MaintenanceConflictError
from leasehold.leasing.maintenance.use import request_of
from leasehold.model.errors import LeaseholdError
from tests.factory import AT_ONCE, hosts, instances, make_service
from tests.stateful.audit import audit, dump

pytestmark = pytest.mark.slow

LABELS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")


def test_leases_are_moved_and_a_refusal_leaves_no_trace(database_url: str) -> None:
    with make_service(database_url, settings=AT_ONCE, hosts=LABELS) as world:
        leases = [world.lease(hosts(), start=1, end=3), world.lease(instances(2), start=2, end=4)]
        taken = sorted({label for lease in leases for label in world.holds(lease)})
        before = dump(world.engine)
        with pytest.raises(MaintenanceConflictError):
            world.maintain(*taken, start=1, end=4)
        assert dump(world.engine) == before
        window = world.maintain(*taken, start=1, end=4, on_conflict="move")
        assert set(request_of(window).moved) == {lease.id for lease in leases}
        assert not {label for lease in leases for label in world.holds(lease)} & set(taken)
        audit(world)


def test_windows_and_leases_at_the_same_moment_never_share_a_host(database_url: str) -> None:
    with make_service(database_url, settings=AT_ONCE, hosts=LABELS) as world:

        def ask(number: int) -> bool:
            label = LABELS[number % len(LABELS)]
            window = partial(world.maintain, label, start=1, end=2, on_conflict="move")
            try:
                window() if number % 3 == 0 else world.lease(hosts(), start=1, end=2)
            except LeaseholdError:
                return False
            return True

        with ThreadPoolExecutor(6) as threads:
            granted = sum(threads.map(ask, range(12)))
        # Each of the four hosts is in a window or has a lease, and each window moved the lease that was there; the
        # leases may have been faster than every window.
        assert granted == len(LABELS)
        audit(world)
