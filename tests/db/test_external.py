"""On each database: no lock is held while the external service is asked, and it is told of the end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leasehold.model.errors import ExternallyDeniedError
from tests.approver import ALLOW, approving, deny
from tests.factory import AT_ONCE, hosts, make_service, open_service, run_for
from tests.jobs import job_of
from tests.stateful.audit import audit, dump

if TYPE_CHECKING:
    from tests.serving import Answer, Asked

pytestmark = pytest.mark.slow


def test_no_lock_is_held_while_it_is_asked_and_the_end_is_told(database_url: str) -> None:
    with approving() as approver:
        settings = replace(AT_ONCE, leases=approver.settings())
        with make_service(database_url, settings=settings, hosts=("cmp-01", "cmp-02", "cmp-06")) as world:
            other = open_service(database_url, clock=world.clock)

            def overtake(_: Asked) -> Answer:
                if len(approver.asked) == 1:
                    # It takes the chosen host, and would wait for the project, the pool or the lease if one was locked.
                    other.lease(hosts(), end=2)
                return ALLOW

            approver.answer = overtake
            lease = world.lease(hosts())
            assert len(approver.asked) == 2
            assert len(world.holds(lease)) == 1
            approver.answer = deny(b"{}")
            before = dump(world.engine)
            for work in (partial(world.lease, hosts()), partial(world.amend, lease, end=3)):
                with pytest.raises(ExternallyDeniedError):
                    work()
            assert dump(world.engine) == before
            approver.answer = ALLOW
            run_for(world, hours=1)
            job_of(world.service, "end notices").run_once()
            assert approver.paths[-1] == "/v1/on-end"
            assert approver.body()["lease"]["id"] == lease.id
            other.engine.dispose()
            audit(world)
