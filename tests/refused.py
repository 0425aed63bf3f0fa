"""What is refused leaves no trace, but for a count of what its project uses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.db.engine import reading
from leasehold.db.project import CountedUse, peak, use_bounds
from leasehold.db.tables import project_use
from leasehold.model.windows import EPOCH, OPEN_END, Window
from tests.factory import DEMO
from tests.harness.tables import SANDBOX, dump

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.errors import LeaseholdError
    from leasehold.model.use import Use
    from tests.factory import World
    from tests.harness.tables import Dump

ALWAYS = Window(EPOCH, OPEN_END)


def promised(world: World) -> Dump:
    """Return all of our rows but the counts."""
    return dump(world.engine, lambda name: not name.startswith(SANDBOX) and name != project_use.name)


def refused(world: World, error: type[LeaseholdError], work: Callable[..., object], *args: Any, **more: Any) -> Any:
    """Check that the work is refused with this error and leaves no trace, and return the error."""
    before = promised(world)
    with pytest.raises(error) as caught:
        work(*args, **more)
    assert promised(world) == before
    check_counts(world)
    return caught.value


def bounds(world: World, project_id: str = DEMO.project_id) -> Use | None:
    """Return the upper bounds of what a project uses."""
    with world.service.db.reading() as connection:
        return use_bounds(connection, project_id, world.now())


def check_counts(world: World) -> None:
    """Raise AssertionError if a project uses more than is counted for it."""
    with reading(world.engine) as connection:
        for project_id in connection.execute(select(project_use.c.project_id)).scalars():
            use = CountedUse(connection, world.service.types.whole)
            used = replace(peak(use.allocated(project_id), ALWAYS), leases=use.open_leases(project_id))
            most = bounds(world, project_id)
            assert most is None or used.within(most), (project_id, used, most)
