"""On each database: what a user has ahead is counted, and of many requests at once no more pass than the limits say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.settings import LimitSettings
from leasehold.model.errors import LimitExceededError, TooManyHoursError
from tests.factory import AT_ONCE, hosts, make_service
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tests.factory import World

pytestmark = pytest.mark.slow

THREADS = 6


def limited(url: str, **limits: int) -> AbstractContextManager[World]:
    """Make a service with these limits and none of those that have a default."""
    limit = LimitSettings(open_leases=None, totals={}, **limits)  # type: ignore[arg-type]
    settings = replace(AT_ONCE, leases=replace(AT_ONCE.leases, limits=limit))
    return make_service(url, settings=settings, hosts=("cmp-01", "cmp-02", "cmp-06", "cmp-07"))


def test_what_a_user_has_ahead_is_counted(database_url: str) -> None:
    with limited(database_url, user_host_hours=4, project_host_hours=4) as world:
        world.lease(hosts(), start=1, end=4)
        with pytest.raises(TooManyHoursError):
            world.lease(hosts(), start=1, end=3)
        assert world.lease(hosts(), start=1, end=2)


@pytest.mark.parametrize("limits", [{"user_open_leases": 2}, {"user_hosts": 2}, {"project_host_hours": 2}])
def test_of_many_at_once_as_many_pass_as_the_limit_says(database_url: str, limits: dict[str, int]) -> None:
    with limited(database_url, **limits) as world:

        def ask(_: int) -> bool:
            try:
                world.lease(hosts(), start=1, end=2)
            except LimitExceededError:
                return False
            return True

        with ThreadPoolExecutor(THREADS) as threads:
            assert sum(threads.map(ask, range(THREADS))) == 2
        audit(world)
