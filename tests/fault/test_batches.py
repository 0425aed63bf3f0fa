"""An API dies, or its connection breaks, while it decides many requests together: each is done wholly or not at all."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import pytest

from tests.databases import Databases, database
from tests.harness.batches import CUTS, VERBS, Fault, Prepared, done_wholly_or_not_at_all, prepared_on
from tests.harness.stage import new_stage
from tests.selection import part_of_product
from tests.servers import KINDS, SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, databases: Databases) -> Iterator[Callable[[str], Prepared]]:
    """Yield a function that returns what is prepared on a kind of database, which it is at its first use."""
    with ExitStack() as stack:

        @cache
        def of_kind(kind: str) -> Prepared:
            folder = tmp_path_factory.mktemp("batches")
            url = stack.enter_context(database(databases, kind, folder))
            return prepared_on(stack.enter_context(new_stage(url, folder)))

        yield of_kind


EVERY = [("all", *each) for each in product(KINDS, Fault)] + part_of_product(tuple(VERBS), KINDS, tuple(Fault))
CASES = [
    pytest.param(crowd, kind, fault, marks=[pytest.mark.servers] if kind in SERVERS else ())
    for crowd, kind, fault in EVERY
    if kind in SERVERS or fault not in CUTS
]


@pytest.mark.parametrize(("crowd", "kind", "fault"), CASES)
def test_each_request_of_a_batch_is_done_wholly_or_not_at_all(
    prepared: Callable[[str], Prepared], crowd: str, kind: str, fault: Fault
) -> None:
    done_wholly_or_not_at_all(prepared(kind), crowd, fault)
