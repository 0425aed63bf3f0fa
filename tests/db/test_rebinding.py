"""Late binding on each database (feature A9): what moves, what may move, and a start that begins at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, update

from leasehold.db.tables import events, leases
from leasehold.model.errors import NotEnoughError
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from tests.factory import Clock, hosts, instances, make_service, open_service, run_for
from tests.stateful.audit import audit, audit_cloud, dump

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

TWO = ("cmp-01", "cmp-02")


def fragmented(world: World) -> tuple[Lease, Lease]:
    """Return two leases of an hour, one after the other and on two hosts, though one host would do."""
    blocker = world.lease(hosts(), start=1, end=2)
    first = world.lease(hosts(), start=1, end=2)
    world.delete(blocker)
    return first, world.lease(hosts(), start=2, end=3)


def test_a_lease_makes_room_and_starts_on_its_other_host(database_url: str) -> None:
    with make_service(database_url, hosts=TWO) as world:
        both = fragmented(world)
        seen = [(each.generation, each.updated_at, world.told(each)) for each in both]
        held = [world.holds(each) for each in both]
        lease = world.lease(hosts(), start=1, end=3)
        assert [world.holds(each) for each in both] != held
        now = [world.get(each) for each in both]
        assert [(each.generation, each.updated_at, world.told(each)) for each in now] == seen
        before = dump(world.engine)
        with pytest.raises(NotEnoughError):
            world.lease(hosts(), start=1.5, end=2.5)
        assert dump(world.engine) == before
        audit(world)
        run_for(world, hours=4)
        assert [world.status(each) for each in (*both, lease)] == ["TERMINATED"] * 3
        audit(world)
        audit_cloud(world)


@contextmanager
def starting_meanwhile(world: World, url: str, begun: Sequence[Lease]) -> Iterator[None]:
    """Let another process begin the starts of these leases right after it was looked up what may move."""
    other = open_service(url, clock=Clock())
    left = [each.id for each in begun]

    @event.listens_for(world.engine, "after_cursor_execute")
    def begin(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "LIMIT" in statement and "min(allocations.starts_at)" in statement:
            while left:
                ident = left.pop()
                other.execute(update(leases).where(leases.c.id == ident).values(status=LeaseStatus.STARTING))
                mine = (events.c.lease_id == ident, events.c.type == EventType.START)
                other.execute(update(events).where(*mine).values(status=EventStatus.IN_PROGRESS))

    yield
    assert not left
    other.engine.dispose()


@pytest.mark.servers
@pytest.mark.parametrize("position", [0, 1])
def test_what_a_worker_begins_to_start_stays_and_another_one_moves(postgresql_url: str, position: int) -> None:
    with make_service(postgresql_url, hosts=TWO) as world:
        both = fragmented(world)
        held = [world.holds(each) for each in both]
        with starting_meanwhile(world, postgresql_url, [both[position]]):
            assert world.lease(hosts(), start=1, end=3)
        assert world.holds(both[position]) == held[position]
        assert world.holds(both[1 - position]) == held[position]


@pytest.mark.servers
def test_if_all_begin_to_start_the_request_is_refused(postgresql_url: str) -> None:
    with make_service(postgresql_url, hosts=TWO) as world:
        both = fragmented(world)
        held = [world.holds(each) for each in both]
        with starting_meanwhile(world, postgresql_url, both), pytest.raises(NotEnoughError):
            world.lease(hosts(), start=1, end=3)
        assert [world.holds(each) for each in both] == held


def test_requests_at_the_same_moment_never_share_a_host(database_url: str) -> None:
    with make_service(database_url, hosts=("cmp-01", "cmp-02", "cmp-06")) as world:

        def ask(number: int) -> bool:
            start = 1 + number * 7 % 5
            wish = instances(2) if number % 4 == 3 else hosts()
            try:
                world.lease(wish, start=start, end=start + 1 + number % 3)
            except NotEnoughError:
                return False
            return True

        with ThreadPoolExecutor(6) as threads:
            granted = sum(threads.map(ask, range(24)))
        assert granted >= 7
        audit(world)
