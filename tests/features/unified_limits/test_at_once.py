"""On each database: of many requests at once no more pass than a limit from Keystone says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from leasehold.conf.settings import LimitSettings
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.deciding.queue import Queues
from leasehold.model.errors import LimitExceededError
from tests.factory import AT_ONCE, World, hosts, make_service
from tests.features.unified_limits.keeper import Keeper
from tests.stateful.audit import audit

pytestmark = pytest.mark.slow

THREADS = 6


@pytest.mark.parametrize("name", ["leases", "hosts", "host_hours_ahead", "leases_per_user"])
def test_of_many_at_once_as_many_pass_as_the_limit_says(database_url: str, name: str) -> None:
    settings = replace(AT_ONCE, leases=replace(AT_ONCE.leases, limits=LimitSettings(open_leases=None, totals={})))
    with make_service(database_url, settings=settings, hosts=("cmp-01", "cmp-02", "cmp-06", "cmp-07")) as made:
        # Two APIs, of which each has read the limit itself.
        apis = [Keeper({name: 2}).of_world(apart(made)) for _ in range(2)]

        def ask(number: int) -> bool:
            try:
                apis[number % 2].lease(hosts(), start=1, end=2)
            except LimitExceededError:
                return False
            return True

        with ThreadPoolExecutor(THREADS) as threads:
            assert sum(threads.map(ask, range(THREADS))) == 2
        audit(made)


def apart(world: World) -> World:
    """Return the service as another process has it on the same database."""
    service = replace(world.service, calendars=Calendars(), questions=Calendars(), queues=Queues())
    return replace(world, service=service)
