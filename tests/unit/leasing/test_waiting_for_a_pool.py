"""A decision that waits for its pools begins when it has them: until then, another lease may have held the resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Select, Update, event, select

from leasehold.db.tables import allocations, pools, segments
from leasehold.model.errors import InvalidDateError
from leasehold.model.windows import to_seconds
from tests.factory import ALT, hosts
from tests.refused import promised

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from tests.factory import World

SECONDS = 3
"""How long each decision waits; allocations count whole seconds."""


def wait_at_pools(world: World, seconds: float = SECONDS) -> None:
    """Let the clock go on whenever a transaction locks a pool, as if another one had kept it."""

    @event.listens_for(world.engine, "before_cursor_execute")
    def wait(_connection: Any, _cursor: Any, _statement: str, _parameters: Any, context: Any, _many: bool) -> None:  # noqa: FBT001 - SQLAlchemy's signature
        element = None if context.compiled is None else context.compiled.statement
        if _locks_a_pool(element):
            world.clock.advance(seconds=seconds)


def _locks_a_pool(element: Any) -> bool:
    """Say whether a statement locks a pool: it selects its row for update, or moves it and returns it."""
    if isinstance(element, Select):
        tables = {getattr(each, "name", "") for each in element.get_final_froms()}
        return element._for_update_arg is not None and "pools" in tables
    return isinstance(element, Update) and element.table is pools and bool(element._returning)


def create(world: World, _lease: Lease) -> None:
    world.lease(hosts(), end=2, caller=ALT)


def amend(world: World, lease: Lease) -> None:
    world.amend(lease, {"min": 2, "max": 2})


def swap(world: World, lease: Lease) -> None:
    world.swap(lease, host=next(iter(world.holds(lease))))


def heal(world: World, lease: Lease) -> None:
    world.fail(next(iter(world.holds(lease))))


def maintain(world: World, lease: Lease) -> None:
    world.maintain(*(each.label for each in world.listed() if each.label not in world.holds(lease)), end=1)


@pytest.mark.parametrize("act", [create, amend, swap, heal, maintain])
def test_nothing_is_held_from_before_the_decision(world: World, act: Callable[[World, Lease], None]) -> None:
    lease = world.active(hosts(), end=2)
    known = select(allocations.c.id)
    with world.service.db.reading() as connection:
        before = set(connection.execute(known).scalars())
    wait_at_pools(world)
    called_at = to_seconds(world.now())
    act(world, lease)
    begins = select(allocations.c.starts_at).where(allocations.c.id.not_in(before))
    with world.service.db.reading() as connection:
        begun = list(connection.execute(begins).scalars())
    assert begun
    assert all(each >= called_at + SECONDS for each in begun), (called_at, begun)


def test_what_is_given_up_was_held_until_the_decision(world: World) -> None:
    """Otherwise the record would have a hole: nobody could have the resource while the deletion waited."""
    lease = world.active(hosts(), end=2)
    wait_at_pools(world)
    called_at = to_seconds(world.now())
    world.delete(lease)
    with world.service.db.reading() as connection:
        (ended,) = connection.execute(select(segments.c.ends_at)).scalars()
    assert ended == called_at + SECONDS


def test_a_lease_whose_end_passes_meanwhile_is_refused(world: World) -> None:
    before = promised(world)
    wait_at_pools(world, seconds=3601)
    with pytest.raises(InvalidDateError) as caught:
        world.lease(hosts(), end=1)
    assert caught.value.field == "end_date"
    assert promised(world) == before
