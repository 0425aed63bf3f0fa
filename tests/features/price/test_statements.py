"""What prices and budgets cost a request, in statements, on each database."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from leasehold.leasing.delete import delete_lease
from tests.counts.meter import Meter
from tests.factory import hosts, make_service
from tests.features.price.prices import PRICED, amended, budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.factory import World

pytestmark = pytest.mark.slow


def statements(meter: Meter, work: Callable[[], object]) -> int:
    return meter.of(work)["statements"]


def costs(world: World, meter: Meter) -> tuple[int, int, int]:
    """Return the statements of a create, an extension and a deletion."""
    delete_lease(world.service, world.lease(hosts(1), start=900, end=901).id)
    found = []
    made = statements(meter, lambda: found.append(world.lease(hosts(1), start=1, end=3)))
    longer = statements(meter, partial(amended, world, found[0], end=4))
    return made, longer, statements(meter, partial(delete_lease, world.service, found[0].id))


def test_statements(database_url: str) -> None:
    with make_service(database_url, hosts=["cmp-01", "cmp-02"]) as world:
        plain = costs(world, Meter(world.engine))
        priced = world.with_settings(features=PRICED.features)
        meter = Meter(priced.engine)
        without = costs(priced, meter)
        budget(priced, "1000", 0, 10_000)
        with_budget = costs(priced, meter)
        priced.engine.dispose()
    # MariaDB takes all rows of a decision by one statement, PostgreSQL all new ones.
    more = {"sqlite": [2, 3, 3], "mysql": [1, 2, 2], "postgresql": [1, 3, 3]}[world.engine.dialect.name]
    assert [one - other for one, other in zip(without, plain, strict=True)] == more
    assert [one - other for one, other in zip(with_budget, plain, strict=True)] == more
