"""A reservation is dropped while other processes change its lease (feature A13): on every database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.leasing.amend import amend_lease
from leasehold.model.draft import LeaseChanges
from leasehold.model.errors import LeaseholdError
from tests.factory import hosts, instances, make_service, open_service, run_for
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow


@pytest.fixture
def worlds(database_url: str) -> Iterator[list[World]]:
    """Return three processes of one service."""
    with make_service(database_url, hosts=("cmp-01", "cmp-02", "cmp-06")) as world:
        url = world.engine.url.render_as_string(hide_password=False)
        others = [open_service(url, clock=world.clock) for _ in range(2)]
        yield [world, *others]
        for other in others:
            other.engine.dispose()


def change(world: World, lease: Lease, changes: LeaseChanges) -> str:
    try:
        amend_lease(world.service, lease.id, changes)
    except LeaseholdError as error:
        return error.code
    return "done"


def test_two_drops_and_an_extension_at_the_same_time_all_hold(worlds: list[World]) -> None:
    first = worlds[0]
    lease = first.active(hosts(1), instances(1), hosts(1), end=2)
    servers = [first.boot(lease, position).id for position in range(3)]
    changes = [LeaseChanges(drops=frozenset({part.id})) for part in lease.reservations[1:]]
    changes.append(LeaseChanges(end_by=timedelta(hours=1)))
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(change, worlds, [lease] * 3, changes)) == ["done"] * 3
    run_for(first, minutes=1)
    after = first.get(lease)
    assert (after.window.end, [part.id for part in after.kept]) == (first.hour(3), [lease.reservations[0].id])
    assert (first.statuses(lease), first.servers()) == (["active", "deleted", "deleted"], {servers[0]})
    audit(first)
    audit_cloud(first)


def test_one_of_two_drops_at_the_same_time_finds_the_last_reservation(worlds: list[World]) -> None:
    lease = worlds[0].lease(hosts(1), instances(1), start=1, end=2)
    changes = [LeaseChanges(drops=frozenset({part.id})) for part in lease.reservations]
    with ThreadPoolExecutor(2) as pool:
        found = sorted(pool.map(change, worlds, [lease] * 2, changes))
    assert found == ["done", "leasehold.conflict"]
    assert len(worlds[0].get(lease).kept) == 1
    run_for(worlds[0], hours=3)
    assert worlds[0].status(lease) == "TERMINATED"
    audit(worlds[0])
    audit_cloud(worlds[0])
